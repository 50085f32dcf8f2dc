package tiny

// message is what the server needs of a line: the id as it stands there, and two
// strings without escapes.
type message struct{ id, method, name []byte }

// parse looks at the top level for id and method, and one below for name. It is no
// validator: those who write to it are real clients.
func parse(line []byte) (m message) {
	depth := 0
	var key []byte // whose value comes next
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			depth++
			key = nil
		case '}', ']':
			depth--
		case ',':
			key = nil
		case '"':
			end := i + 1
			for end < len(line) && line[end] != '"' {
				if line[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(line))
			token := line[i+1 : end]
			switch {
			case end+1 < len(line) && line[end+1] == ':':
				key = token
				if depth == 1 && string(key) == "id" {
					m.id = scalar(line[end+2:])
				}
			case depth == 1 && string(key) == "method":
				m.method = token
			case depth == 2 && string(key) == "name" && m.name == nil:
				m.name = token
			}
			i = end
		}
	}
	return m
}

// scalar returns the number or string that a value begins with.
func scalar(rest []byte) []byte {
	for i, c := range rest {
		if c == ',' || c == '}' {
			return rest[:i]
		}
	}
	return rest
}

func index(p []byte, b byte) int {
	for i, c := range p {
		if c == b {
			return i
		}
	}
	return -1
}

func number(p []byte) (n int) {
	for _, c := range p {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
