package stdio

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// safeNames are the variables that the official SDKs hand to a server: what a
// program needs to run, and nothing that is likely to hold a secret.
var safeNames = map[bool][]string{
	false: {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"},
	true: {"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"},
}[runtime.GOOS == "windows"]

// SafeEnv returns an environment for Command.Env that leaves the host's secrets
// out: HOME, LOGNAME, PATH, SHELL, TERM and USER, as far as the host has them (on
// Windows what takes their place), and the additions. An addition is a NAME=value, or a
// NAME alone, which is taken from the host's environment if it is there. Later
// additions override earlier ones and the defaults.
//
// The list is that of the official SDKs for Python and TypeScript. A value that
// begins with "()" is left out, as there: it is a function of the shell.
func SafeEnv(extra ...string) []string {
	var env []string
	add := func(name, value string) {
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		env = append(env, name+"="+value)
	}
	for _, name := range safeNames {
		if value, ok := os.LookupEnv(name); ok && !strings.HasPrefix(value, "()") {
			add(name, value)
		}
	}
	for _, e := range extra {
		if name, value, ok := strings.Cut(e, "="); ok {
			add(name, value)
		} else if value, ok := os.LookupEnv(name); ok {
			add(name, value)
		}
	}
	return env
}
