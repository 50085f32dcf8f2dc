package servers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// request is what a server needs of a message.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

// serve reads requests until end of file and hands each to answer. It returns
// at end of file.
func serve(answer func(request)) {
	ready()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		var r request
		if json.Unmarshal(line, &r) == nil && r.ID != nil {
			answer(r)
		}
		if err != nil {
			return
		}
	}
}

var lineEnd = "\n"

func result(r request, body string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+lineEnd, r.ID, body)
}

func failure(r request, code int, message string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+lineEnd, r.ID, code, message)
}

// polite answers as a well-behaved server of protocol version 2025-11-25 with
// one tool, which says "pong".
func polite(r request) {
	switch r.Method {
	case "initialize":
		initialized(r, "2025-11-25")
	case "ping":
		result(r, `{}`)
	case "tools/list":
		result(r, `{"tools":[{"name":"ping","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		result(r, `{"content":[{"type":"text","text":"pong"}]}`)
	default:
		failure(r, -32601, "method not found: "+r.Method)
	}
}

func initialized(r request, version string) {
	result(r, `{"protocolVersion":"`+version+`","capabilities":{"tools":{}},"serverInfo":{"name":"zoo","version":"1"}}`)
}
