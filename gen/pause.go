package main

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
)

// Pause is what a loop that waits for another thread does between two looks: it saves
// power, and leaves the core to a thread that shares it.
const pauseDoc = "Pause waits a moment, some tens of cycles, and leaves the core to the thread that shares it."

// buildPauseAMD64 takes PAUSE, which every CPU has.
func buildPauseAMD64() (asm, stubs []byte, err error) {
	c := build.NewContext()
	c.Function("Pause")
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func()")
	c.Doc(pauseDoc)
	c.PAUSE()
	c.RET()
	return compile(c, "pause", func(*ir.File) error { return nil })
}

// buildPauseARM64 takes ISB, which empties the pipeline: YIELD does nothing on most
// CPUs.
func buildPauseARM64() (asm, stubs []byte, err error) {
	file := a64.NewFile("asm", "arm64 && !purego")
	f := file.Func("Pause", "()", pauseDoc)
	f.Op("ISB", 15)
	f.Ret()
	return file.Build()
}
