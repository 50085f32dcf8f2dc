package servers

func init() { register("ordinary", ordinary) }

// ordinary does everything right: the twin that every faulty server is compared
// with. It ends at end of file.
func ordinary([]string) { serve(polite) }
