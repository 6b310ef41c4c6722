package heat

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// A layout has the positions of the parts of a figure. The title is on top. Below it are
// tiles of one size, each with a map, and the colour scale is on their right.
type layout struct {
	title   []string // its lines
	face    face     // of the title
	panels  []panel
	scale   scale
	columns int      // of tiles
	tile    vg.Point // its size
	top     vg.Length
	size    vg.Point
}

func (f *Figure) layOut() (*layout, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	l := &layout{}
	cell, hidden := cellSize(f.Maps), false
	for i := range f.Maps {
		p := newPanel(f, &f.Maps[i], cell)
		l.panels = append(l.panels, p)
		l.tile.X, l.tile.Y = max(l.tile.X, p.size().X), max(l.tile.Y, p.size().Y)
		hidden = hidden || f.Maps[i].Visible != nil
	}
	l.scale = newScale(l.panels[0].cells.Y, hidden)
	l.tile.Y = max(l.tile.Y, l.panels[0].top+l.scale.size().Y)
	l.columns = tileColumns(len(f.Maps), l.tile)
	rows := (len(f.Maps) + l.columns - 1) / l.columns
	l.size.X = vg.Length(l.columns)*(l.tile.X+margin) + l.scale.size().X + 2*margin
	l.face = titleFace(l.size.X)
	l.title = l.face.wrap(f.Title, max(minTitle, l.size.X-2*margin))
	l.size.X = max(l.size.X, l.face.widest(l.title)+2*margin)
	l.top = margin
	if len(l.title) > 0 {
		l.top += l.face.lineHeight()*vg.Length(len(l.title)) + margin
	}
	l.size.Y = l.top + vg.Length(rows)*(l.tile.Y+margin)
	return l, nil
}

// cellSize returns the side of all cells, from 7 to 24 points: smaller in larger maps.
func cellSize(maps []Map) vg.Length {
	most := 0
	for i := range maps {
		most = max(most, len(maps[i].Queries), len(maps[i].Keys))
	}
	return max(7, min(14, 640/vg.Length(most)), min(24, 448/vg.Length(most)))
}

// tileColumns returns the number of columns of tiles. It prefers a figure that is 1.5 times
// as wide as high and has no empty tiles.
func tileColumns(tiles int, tile vg.Point) int {
	best, least := 1, math.Inf(1)
	for columns := 1; columns <= tiles; columns++ {
		rows := (tiles + columns - 1) / columns
		ratio := float64(columns) * float64(tile.X) / (float64(rows) * float64(tile.Y))
		filled := float64(tiles) / float64(rows*columns)
		if cost := math.Abs(math.Log(ratio/1.5)) - 2*math.Log(filled); cost < least {
			best, least = columns, cost
		}
	}
	return best
}

// draw draws the figure on a canvas of its size.
func (l *layout) draw(c vg.Canvas) {
	p := pen{c}
	p.fill(color.White, vg.Point{}, l.size)
	at := vg.Point{X: l.size.X / 2, Y: l.size.Y - margin - l.face.lineHeight()/2}
	for _, line := range l.title {
		p.text(l.face, at, atMiddle, line)
		at.Y -= l.face.lineHeight()
	}
	for i := range l.panels {
		l.panels[i].draw(p, l.cells(i))
	}
	l.scale.draw(p, vg.Point{
		X: l.size.X - margin - l.scale.size().X,
		Y: l.size.Y - l.top - l.panels[0].top,
	})
}

// cells returns the upper left corner of the cells of a panel, which is in the middle of
// its tile.
func (l *layout) cells(i int) vg.Point {
	p, column, row := &l.panels[i], vg.Length(i%l.columns), vg.Length(i/l.columns)
	return vg.Point{
		X: margin + column*(l.tile.X+margin) + (l.tile.X-p.size().X)/2 + p.left,
		Y: l.size.Y - l.top - row*(l.tile.Y+margin) - p.top,
	}
}

// minTitle is the least width at which a title is wrapped, even above a small map.
const minTitle = vg.Length(300)

func mapTitleFace() face { return sans(12) }
func nameFace() face     { return sans(11) } // of the axes

// titleFace returns the font of the figure's title, which is larger in a wide figure.
func titleFace(width vg.Length) face { return sans(max(12, min(20, width/70))) }

// A panel is a map with its title, its labels and the names of its axes.
type panel struct {
	*Map
	cell               vg.Length // the side of a cell
	cells              vg.Point  // the size of all cells
	title              []string  // its lines
	queryName, keyName string
	upwards            bool // the labels of keys are wider than a cell, so they are rotated

	left, right, top, bottom vg.Length // the room around the cells
}

func newPanel(f *Figure, m *Map, cell vg.Length) panel {
	p := panel{
		Map: m, cell: cell, queryName: f.QueryAxis, keyName: f.KeyAxis,
		cells: vg.Point{X: cell * vg.Length(len(m.Keys)), Y: cell * vg.Length(len(m.Queries))},
	}
	if p.queryName == "" {
		p.queryName = "query"
	}
	if p.keyName == "" {
		p.keyName = "key"
	}
	labels, keyRoom := p.labelFace(), p.labelFace().lineHeight()
	if widest := labels.widest(m.Keys); widest > cell {
		p.upwards, keyRoom = true, widest
	}
	p.left = nameFace().lineHeight() + gap + labels.widest(m.Queries) + gap
	p.bottom = gap + keyRoom + gap + nameFace().lineHeight()
	// The title and the names are centred on the cells, and may be longer than these.
	p.title = mapTitleFace().wrap(m.Title, max(minTitle, p.cells.X))
	across := max(mapTitleFace().widest(p.title), nameFace().width(p.keyName)) - p.cells.X
	p.left, p.right = max(p.left, across/2), max(0, across/2)
	down := nameFace().width(p.queryName) - p.cells.Y
	p.top, p.bottom = max(0, down/2), max(p.bottom, down/2)
	if len(p.title) > 0 {
		p.top += mapTitleFace().lineHeight()*vg.Length(len(p.title)) + gap
	}
	return p
}

// labelFace returns the font of labels. Two characters of it fit in a cell.
func (p *panel) labelFace() face { return mono(min(11, 0.66*p.cell)) }

// size returns the size of the panel.
func (p *panel) size() vg.Point {
	return vg.Point{X: p.left + p.cells.X + p.right, Y: p.top + p.cells.Y + p.bottom}
}

// draw draws the panel. at is the upper left corner of its cells.
func (p *panel) draw(c pen, at vg.Point) {
	p.drawCells(c, at)
	p.drawLabels(c, at)
	middle := vg.Point{X: at.X + p.cells.X/2, Y: at.Y - p.cells.Y/2}
	line := mapTitleFace().lineHeight()
	for i, title := range p.title {
		above := gap + line*(vg.Length(len(p.title)-1-i)+0.5)
		c.text(mapTitleFace(), vg.Point{X: middle.X, Y: at.Y + above}, atMiddle, title)
	}
	names := nameFace()
	beside := gap + p.labelFace().widest(p.Queries) + gap + names.lineHeight()/2
	c.textUpwards(names, vg.Point{X: at.X - beside, Y: middle.Y}, atMiddle, p.queryName)
	below := gap + p.labelFace().lineHeight() + gap + names.lineHeight()/2
	if p.upwards {
		below = gap + p.labelFace().widest(p.Keys) + gap + names.lineHeight()/2
	}
	c.text(names, vg.Point{X: middle.X, Y: at.Y - p.cells.Y - below}, atMiddle, p.keyName)
}

// drawCells draws the cells, a grid between them and a frame around them.
func (p *panel) drawCells(c pen, at vg.Point) {
	corner := func(query, key int) vg.Point {
		return vg.Point{X: at.X + p.cell*vg.Length(key), Y: at.Y - p.cell*vg.Length(query)}
	}
	queries, keys := len(p.Queries), len(p.Keys)
	for query := range queries {
		// Neighbours of the same colour are drawn as one rectangle, which makes SVG files
		// smaller: most cells are white or hidden.
		for key, end := 0, 0; key < keys; key = end {
			colour := p.cellColour(query, key)
			for end = key + 1; end < keys && p.cellColour(query, end) == colour; end++ {
			}
			c.fill(colour, corner(query+1, key), corner(query, end))
		}
	}
	for query := 1; query < queries; query++ {
		c.line(gridColour, 0.25, corner(query, 0), corner(query, keys))
	}
	for key := 1; key < keys; key++ {
		c.line(gridColour, 0.25, corner(0, key), corner(queries, key))
	}
	c.frame(corner(queries, 0), corner(0, keys))
}

// drawLabels writes the labels beside and below the cells.
func (p *panel) drawLabels(c pen, at vg.Point) {
	labels := p.labelFace()
	for i, label := range p.Queries {
		c.text(labels, vg.Point{X: at.X - gap, Y: at.Y - p.cell*(vg.Length(i)+0.5)}, atEnd, label)
	}
	for i, label := range p.Keys {
		below := vg.Point{X: at.X + p.cell*(vg.Length(i)+0.5), Y: at.Y - p.cells.Y - gap}
		if p.upwards {
			c.textUpwards(labels, below, atEnd, label)
		} else {
			below.Y -= labels.lineHeight() / 2
			c.text(labels, below, atMiddle, label)
		}
	}
}

// A scale shows which colour stands for which weight.
type scale struct {
	bar    vg.Point // its size
	hidden bool     // also show the colour of hidden cells
}

// newScale returns a scale for maps whose cells have the given height.
func newScale(height vg.Length, hidden bool) scale {
	return scale{vg.Point{X: 12, Y: max(80, min(200, height-nameFace().lineHeight()-2*gap))}, hidden}
}

func scaleFace() face { return mono(8) }

// size returns the size of the scale with its texts.
func (s *scale) size() vg.Point {
	size := vg.Point{
		X: max(s.bar.X+gap+scaleFace().width("hidden"), nameFace().width("weight")),
		Y: nameFace().lineHeight() + 2*gap + s.bar.Y + scaleFace().lineHeight(),
	}
	if s.hidden {
		size.Y += s.bar.X + gap
	}
	return size
}

// draw draws the scale. at is its upper left corner.
func (s *scale) draw(c pen, at vg.Point) {
	names, numbers := nameFace(), scaleFace()
	c.text(names, vg.Point{X: at.X, Y: at.Y - names.lineHeight()/2}, atStart, "weight")
	top := at.Y - names.lineHeight() - 2*gap
	bottom := top - s.bar.Y
	for i, colour := range colours {
		// Each rectangle reaches to the top, under the next ones: so there are no seams.
		from := bottom + s.bar.Y*vg.Length(i)/vg.Length(len(colours))
		c.fill(colour, vg.Point{X: at.X, Y: from}, vg.Point{X: at.X + s.bar.X, Y: top})
	}
	c.frame(vg.Point{X: at.X, Y: bottom}, vg.Point{X: at.X + s.bar.X, Y: top})
	beside := at.X + s.bar.X + gap
	for i := range 6 {
		weight := float64(i) / 5
		y := bottom + s.bar.Y*vg.Length(weight)
		c.text(numbers, vg.Point{X: beside, Y: y}, atStart, strconv.FormatFloat(weight, 'g', -1, 64))
	}
	if s.hidden {
		y := bottom - gap - numbers.lineHeight()/2
		c.fill(hiddenColour, vg.Point{X: at.X, Y: y - s.bar.X}, vg.Point{X: at.X + s.bar.X, Y: y})
		c.frame(vg.Point{X: at.X, Y: y - s.bar.X}, vg.Point{X: at.X + s.bar.X, Y: y})
		c.text(numbers, vg.Point{X: beside, Y: y - s.bar.X/2}, atStart, "hidden")
	}
}
