package main

import (
	"context"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/stdioguard/stdioguard/procgroup"
)

// describe says where this run is made. It is called before the run, whose own load
// is not meant.
func describe(ctx context.Context) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(), Cores: runtime.NumCPU(),
		Go: runtime.Version(), Load: load(), Holds: holds(ctx), Versions: map[string]string{},
	}
	modules := map[string]string{
		"github.com/modelcontextprotocol/go-sdk": sdk,
		"github.com/mark3labs/mcp-go":            mcpgo,
		"github.com/go-cmd/cmd":                  gocmd,
		"github.com/ysmood/leakless":             leakless,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, d := range info.Deps {
		if column := modules[d.Path]; column != "" {
			m.Versions[column] = d.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			m.Versions[ours] = s.Value[:min(12, len(s.Value))]
		}
	}
	return m
}

// holds is what the library can get here: it decides what is compared.
func holds(ctx context.Context) string {
	g, err := procgroup.Start(ctx, exec.Command("sleep", "60"))
	if err != nil {
		return err.Error()
	}
	defer g.Kill()
	text, _, _ := strings.Cut(g.Containment().String(), "; gaps")
	return text
}
