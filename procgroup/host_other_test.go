//go:build !linux

package procgroup_test

func host(string) int { return 98 }
