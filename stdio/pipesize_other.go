//go:build !linux

package stdio

func (o *outlet) widen() {}
