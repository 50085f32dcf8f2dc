package stdio

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var errGarbled = errors.New("the answer to the call is no valid JSON-RPC message")

// garbled fails the call that a line was meant to answer, if it was: one that
// nests too deep, for instance, or has an error of a wrong shape. Nothing else would
// come, and the caller would wait.
func (c *conn) garbled(line []byte) {
	var r struct {
		Version json.RawMessage `json:"jsonrpc"` // or a line of a log may look like an answer
		ID      any             `json:"id"`
		Method  json.RawMessage `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &r) != nil || r.Version == nil || r.Method != nil || r.Result == nil && r.Error == nil {
		return
	}
	id, err := jsonrpc.MakeID(r.ID)
	if err != nil || c.probe.heard(id) || !c.pending.has(id) {
		return
	}
	c.deliver(&jsonrpc.Response{ID: id, Error: newCallError(c.newError(errGarbled))})
}
