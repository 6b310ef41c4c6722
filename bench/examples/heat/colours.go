package heat

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
)

var (
	// hiddenColour is the colour of cells that a mask hides.
	hiddenColour = color.RGBA{0xE4, 0xE4, 0xEA, 0xFF}

	gridColour = color.RGBA{0xD0, 0xD0, 0xD0, 0xFF}
)

// colourCount is the number of colours of the scale.
const colourCount = 256

// colours are the colours of the weights from 0 to 1: white, yellow, orange, red, black.
// The lightness falls in even steps, so that the order of two weights can be seen.
var colours = newColours()

func newColours() []color.Color {
	m := moreland.BlackBody()
	m.SetMin(0)
	m.SetMax(1)
	return palette.Reverse(m).Palette(colourCount).Colors()
}

// colour returns the colour of a weight from 0 to 1.
func colour(weight float32) color.Color {
	return colours[int(math.Round(float64(weight)*(colourCount-1)))]
}

// cellColour returns the colour of a cell.
func (m *Map) cellColour(query, key int) color.Color {
	if !m.visible(query, key) {
		return hiddenColour
	}
	return colour(m.Weights[query*len(m.Keys)+key])
}
