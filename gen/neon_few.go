package main

func (g *neon) fewScores() {}
func (g *neon) fewValues() {}
func (g *neon) fewFold()   {}
func (g *neon) fewUnpack() {}
func (g *neon) read()      {}
