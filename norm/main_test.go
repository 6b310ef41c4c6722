package norm_test

import (
	"os"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
)

func TestMain(m *testing.M) {
	contracttest.UseThree()
	os.Exit(m.Run())
}
