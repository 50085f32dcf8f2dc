package stdio

import "fmt"

// isolated runs a function of the caller's. A panic in it, or the end of its
// goroutine, as by t.FailNow, fails the server that it was called for, and nothing
// else; it is reported as false where the goroutine goes on.
func isolated(what string, fail func(error), call func()) (returned bool) {
	defer func() {
		if r := recover(); r != nil {
			fail(fmt.Errorf("%s panicked: %v", what, r))
		} else if !returned {
			fail(fmt.Errorf("%s did not return", what)) // runtime.Goexit
		}
	}()
	call()
	return true
}
