package stdio

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// decode returns what jsonrpc.DecodeMessage does, many times as fast for the
// messages that servers send. The rest, whatever is rare, odd or wrong, it leaves
// to jsonrpc.DecodeMessage itself, so that there is one law only.
//
// If line is owned, the message may keep parts of it.
func decode(line []byte, owned bool) (jsonrpc.Message, error) {
	if m, ok := split(line); ok {
		// What is mostly something else must not be held by a small value.
		owned = owned && 2*max(len(m.result), len(m.params)) >= len(line)
		if msg := m.message(owned); msg != nil {
			return msg, nil
		}
	}
	return jsonrpc.DecodeMessage(line)
}

// members are those of a message as they stand in its line; nil: absent.
type members struct {
	jsonrpc, id, method, params, result []byte
}

// split cuts a message into its members. It is not ok where the line is no JSON
// object, or odd: a member stands there twice, or its name has an escape, or there
// is an error.
func split(line []byte) (m members, ok bool) {
	i := skipSpace(line, 0)
	if at(line, i) != '{' {
		return m, false
	}
	for {
		begin := skipSpace(line, i+1)
		end := skipString(line, begin)
		value := skipColon(line, end)
		if value < 0 {
			return m, false
		}
		if i = skipValue(line, value, maxDepth-1); i < 0 || !m.set(line[begin+1:end-1], line[value:i]) {
			return m, false
		}
		switch i = skipSpace(line, i); at(line, i) {
		case ',':
		case '}':
			return m, skipSpace(line, i+1) == len(line)
		default:
			return m, false
		}
	}
}

// set reports whether a member is nothing odd.
func (m *members) set(name, value []byte) bool {
	var member *[]byte
	switch string(name) {
	case "jsonrpc":
		member = &m.jsonrpc
	case "id":
		member = &m.id
	case "method":
		member = &m.method
	case "params":
		member = &m.params
	case "result":
		member = &m.result
	case "error":
		return string(value) == "null"
	default:
		return bytes.IndexByte(name, '\\') < 0
	}
	if *member != nil {
		return false
	}
	*member = value
	return true
}

// message returns nil where a member is odd or missing.
func (m *members) message(owned bool) jsonrpc.Message {
	id, ok := plainID(m.id)
	if !ok || string(m.jsonrpc) != `"2.0"` {
		return nil
	}
	if m.method == nil {
		if m.id == nil {
			return nil
		}
		return &jsonrpc.Response{ID: id, Result: keep(m.result, owned)}
	}
	method, ok := plainString(m.method)
	if !ok {
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: method, Params: keep(m.params, owned)}
}

func keep(value []byte, owned bool) json.RawMessage {
	if owned {
		return value[:len(value):len(value)]
	}
	return bytes.Clone(value)
}

// plainID is ok for no ID, a plain string and an integer. That becomes a float64 on
// the way, as it does in jsonrpc.DecodeMessage.
func plainID(value []byte) (id jsonrpc.ID, ok bool) {
	if value == nil {
		return id, true
	}
	var v any
	if s, ok := plainString(value); ok {
		v = s
	} else if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		v = float64(n)
	} else {
		return id, false
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}

// plainString is ok for a string that means what it looks like.
func plainString(value []byte) (s string, ok bool) {
	if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 || !utf8.Valid(value) {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
}
