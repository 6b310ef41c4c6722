package vectors

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// A parquetRow is a row of a Parquet file.
type parquetRow struct {
	Position  int64     `parquet:"position,delta"`
	ID        *string   `parquet:"id,optional"` // JSON, as the input has it
	Source    string    `parquet:"source"`
	Reason    *string   `parquet:"reason,optional"`
	Embedding []float32 `parquet:"embedding,optional,list"`
}

// rowGroup is how many rows are in memory before they are written: some 13 MB with 384 numbers.
const rowGroup = 8192

// parquetFile writes a Parquet file.
type parquetFile struct {
	w    *parquet.GenericWriter[parquetRow]
	rows int
}

func newParquet(w io.Writer, _ int, _ int64) (sink, error) {
	return &parquetFile{w: parquet.NewGenericWriter[parquetRow](w,
		parquet.CreatedBy("attn", "cluster", "embed"), // the same whatever version of the library is linked
		parquet.Compression(&parquet.Uncompressed),    // vectors are as good as random
	)}, nil
}

func (p *parquetFile) put(position int64, r Row) error {
	row := parquetRow{Position: position, Source: r.Source, Embedding: r.Vector}
	if r.ID != "" {
		row.ID = &r.ID
	}
	if r.Reason != "" {
		row.Reason = &r.Reason
	}
	if _, err := p.w.Write([]parquetRow{row}); err != nil {
		return err
	}
	if p.rows++; p.rows%rowGroup == 0 {
		return p.w.Flush()
	}
	return nil
}

func (p *parquetFile) close() error { return p.w.Close() }
