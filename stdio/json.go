package stdio

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep a message may nest: as deep as jsonrpc.DecodeMessage
// allows.
const maxDepth = 1000

// The skip functions take the index where something begins and return the index
// after it, or -1 where the input is not what they skip. A -1 goes through all of
// them.

// at returns b[i], or 0, which has no place between the tokens of JSON, where
// there is no such index.
func at(b []byte, i int) byte {
	if uint(i) < uint(len(b)) {
		return b[i]
	}
	return 0
}

func skipSpace(b []byte, i int) int {
	if at(b, i) > ' ' {
		return i // small enough to be inlined
	}
	return skipSpaces(b, i)
}

func skipSpaces(b []byte, i int) int {
	for {
		switch at(b, i) {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
}

func skipString(b []byte, i int) int {
	if at(b, i) != '"' {
		return -1
	}
	i++
	for {
		i = skipPlain(b, i)
		switch at(b, i) {
		case '"':
			return i + 1
		case '\\':
			if i = skipEscape(b, i+1); i < 0 {
				return -1
			}
		default: // a control character, or the end
			return -1
		}
	}
}

// skipPlain skips what needs no look in a string: all but quotes, backslashes and
// control characters.
func skipPlain(b []byte, i int) int {
	const stride = 32
	for far := i + 2*stride; i+8 <= len(b); {
		if marks := special(b[i:]); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
		if i += 8; i >= far {
			for i+stride <= len(b) {
				w := b[i : i+stride]
				if special(w)|special(w[8:])|special(w[16:])|special(w[24:]) != 0 {
					break
				}
				i += stride
			}
			far = len(b) // it is in this stride
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// special looks at eight bytes at once. The lowest bit of the result that is set is
// the top bit of the first quote, backslash or control character; 0: there is none.
//
// It is the known trick for "some byte is less than n": x - n borrows into the top
// bit of such a byte, where ^x is set as well, and may borrow from the bytes above
// it only. With its second bit flipped the quote, 0x22, comes next to the control
// characters, so that one test finds both.
func special(b []byte) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(b)
	low := (x ^ 0x02*ones) - 0x21*ones
	slash := (x ^ '\\'*ones) - ones
	return (low | slash) &^ x & tops
}

// skipEscape skips an escape from after its backslash.
func skipEscape(b []byte, i int) int {
	switch at(b, i) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for range 4 {
			i++
			if c := at(b, i); !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return -1
			}
		}
		return i + 1
	}
	return -1
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// skipDigits skips one digit or more.
func skipDigits(b []byte, i int) int {
	if !isDigit(at(b, i)) {
		return -1
	}
	for isDigit(at(b, i)) {
		i++
	}
	return i
}

func skipNumber(b []byte, i int) int {
	if at(b, i) == '-' {
		i++
	}
	c := at(b, i)
	i++
	if c-'1' < 9 {
		for i < len(b) && isDigit(b[i]) {
			i++
		}
	} else if c != '0' {
		return -1
	}
	if i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return skipFraction(b, i)
	}
	return i
}

// skipFraction skips what follows the integer of a number.
func skipFraction(b []byte, i int) int {
	if at(b, i) == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if at(b, i)|0x20 == 'e' {
		if i++; at(b, i) == '+' || at(b, i) == '-' {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipColon skips a colon and the white space around it.
func skipColon(b []byte, i int) int {
	if i = skipSpace(b, i); at(b, i) != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

// skipValue skips a JSON value that nests no deeper than depth.
func skipValue(b []byte, i, depth int) int {
	switch at(b, i) {
	case '{':
		return skipObject(b, i, depth)
	case '[':
		return skipArray(b, i, depth)
	case '"':
		return skipString(b, i)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipWord(b []byte, i int, word string) int {
	if j := i + len(word); j <= len(b) && string(b[i:j]) == word {
		return j
	}
	return -1
}

func skipObject(b []byte, i, depth int) int {
	if depth == 0 {
		return -1
	}
	if i = skipSpace(b, i+1); at(b, i) == '}' {
		return i + 1
	}
	for {
		i = skipValue(b, skipColon(b, skipString(b, i)), depth-1)
		switch i = skipSpace(b, i); at(b, i) {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func skipArray(b []byte, i, depth int) int {
	if depth == 0 {
		return -1
	}
	if i = skipSpace(b, i+1); at(b, i) == ']' {
		return i + 1
	}
	for {
		i = skipValue(b, i, depth-1)
		switch i = skipSpace(b, i); at(b, i) {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}
