package harness

// contracts are the kernels, by table and field, or by table and array of fields.
var contracts = map[string]contract{
	"Products.Gemm":        {cases: gemm},
	"Products.GemmEvenOdd": {cases: gemmEvenOdd},
	"Products.GemmMax":     {cases: gemmMax},
	"Products.GemmMerge":   {cases: gemmMerge},

	"Lanes.MaskSpan":   {cases: maskSpan},
	"Lanes.MaskBool":   {cases: maskBool},
	"Lanes.Softcap":    {cases: softcap},
	"Lanes.ALiBi":      {cases: alibi},
	"Lanes.Bias":       {cases: bias},
	"Lanes.Softmax":    {cases: softmax, suppose: scoresBelow},
	"Lanes.Dropout":    {cases: dropout},
	"Lanes.MergeStats": {cases: mergeStats, suppose: maximaBelow},
	"Lanes.Pack":       {cases: pack},
	"Lanes.Unpack":     {cases: unpack},
	"Lanes.Round":      {cases: roundLanes},
	"Lanes.ScaleRows":  {cases: scaleRows},
	"Lanes.CodeScores": {cases: codeScores},
	"Lanes.CodeValues": {cases: codeValues},
	"Lanes.CodeMerge":  {cases: codeMerge},
	"Lanes.HeadScores": {cases: headScores},

	"Lanes.SoftmaxBF16": {cases: softmax, suppose: scoresBelow},
	"Skinny.QKEvenOdd":  {cases: qkEvenOdd},
	"Skinny.PVEvenOdd":  {cases: pvEvenOdd},

	"Gradients.BackwardWeights": {cases: backwardWeights},
	"Gradients.BackwardScores":  {cases: backwardScores},
	"Gradients.BackwardSoftcap": {cases: backwardSoftcap},

	"Skinny.QK":         {cases: skinnyQK(1)},
	"Skinny.PV":         {cases: skinnyPV(1, 1)},
	"Skinny.QKF16":      {cases: skinnyQK(16, restColumns...)},
	"Skinny.PVF16":      {cases: narrowPV},
	"Skinny.QKBF16":     {cases: skinnyQK(16, restColumns...)},
	"Skinny.PVBF16":     {cases: narrowPV},
	"Skinny.QKInt8":     {cases: withScales(skinnyQK(16, restColumns...), true)},
	"Skinny.PVInt8":     {cases: withScales(narrowPV, false)},
	"Skinny.HalvesE4M3": {cases: halves},
	"Skinny.HalvesE5M2": {cases: halves},
	"Skinny.QKCodes":    {cases: qkCodes},
	"Skinny.PVCodes":    {cases: pvCodes},
	"Skinny.Softmax":    {cases: softmax, suppose: scoresBelow},
	"Skinny.Merge":      {cases: skinnyMerge},
	"Skinny.Pairs":      {cases: pairs},
	"Skinny.Unpack":     {cases: skinnyUnpack},
	"Skinny.HeadValues": {cases: headValues},
	"Skinny.Additive":   {cases: additive},

	"Convert.Widen":        {cases: widen},
	"Convert.Narrow":       {cases: narrow},
	"Convert.WidenInt8":    {cases: widenInt8},
	"Convert.WidenInt4":    {cases: widenInt4},
	"Convert.UnpackInt4":   {cases: unpackInt4},
	"Convert.QuantizeInt8": {cases: quantizeInt8, suppose: quotientsBelow},
	"Convert.QuantizeInt4": {cases: quantizeInt4, suppose: scalesOfExtremes},
	"Convert.PairColumns":  {cases: pairColumns},
	"Convert.PairRows":     {cases: pairRows},
	"Convert.RoundBF16":    {cases: overSlices("src")},
	"Convert.WidenPairs":   {cases: widenPairs},
	"Convert.NarrowPairs":  {cases: narrowPairs},
	"Convert.PackHalves":   {cases: weightPack},
	"Convert.Flush":        {cases: flush},
	"Convert.Gather":       {cases: gather},
	"Convert.Finite":       {cases: finite},

	"Weights.Gemm":            {cases: weightGemm},
	"Weights.GemmF16":         {cases: weightGemm},
	"Weights.GemmBF16":        {cases: weightGemm},
	"Weights.GemmPairs":       {cases: weightPairs},
	"Weights.Quantize":        {cases: quantizeRow, suppose: codesBelow},
	"Weights.AddBias":         {cases: addBias, strict: true},
	"Weights.Pack":            {cases: weightPack},
	"Weights.Blocks.Gemm":     {cases: blockGemm},
	"Weights.Blocks.GemmInt8": {cases: blockGemmInt8},
	"Weights.Blocks.Widen":    {cases: blockWiden},
	"Weights.Blocks.Unpack":   {cases: blockUnpack},
	"Weights.GemmUnpacked":    {cases: gemmUnpacked},

	"Elementwise.Exp2":             {cases: overSlices("src")},
	"Elementwise.Tanh":             {cases: overSlices("src")},
	"Elementwise.Add":              {cases: overSlices("x", "y"), strict: true},
	"Elementwise.Mul":              {cases: overSlices("x", "y")},
	"Elementwise.Scale":            {cases: scale},
	"Elementwise.RotatePairs":      {cases: rotatePairs, strict: true},
	"Elementwise.AddRows":          {cases: addRows, strict: true},
	"Elementwise.Hadamard":         {cases: hadamard, strict: true},
	"Elementwise.AdamW":            {cases: adamW},
	"Elementwise.AdditiveBackward": {cases: additiveBackward},
	"Elementwise.AddWeighted":      {cases: addWeighted, strict: true},
	"Elementwise.Rotate":           {cases: rotate, strict: true},

	"Rows.Largest":          {cases: rowsInLanes("x")},
	"Rows.Sums":             {cases: rowsInLanes("x")},
	"Rows.Dots":             {cases: rowsInLanes("x", "y")},
	"Rows.DotsWith":         {cases: dotsWith},
	"Rows.AddScaled":        {cases: addScaled},
	"Rows.Powers":           {cases: powers, suppose: topsBelow},
	"Rows.Quotients":        {cases: quotients, suppose: quotientsArgued},
	"Rows.SoftmaxGradients": {cases: softmaxGradients},
	"Rows.Center":           {cases: center},
	"Rows.Squares":          {cases: center},
	"Rows.NormTerms":        {cases: normTerms},
	"Rows.NormWeights":      {cases: normWeights},
	"Rows.NormGradients":    {cases: normGradients, strict: true},

	"Unit.GemmTiles":  {cases: tileGemm(1)},
	"Unit.GemmHalves": {cases: tileGemm(2)},

	"Machine.TileInt8": {cases: tileProbe},
	"Machine.TileBF16": {cases: tileProbe},

	"Norms.RMSNorm":   {cases: norm(false), strict: true},
	"Norms.LayerNorm": {cases: norm(true), strict: true},

	"Activations.SiLU":             {cases: overSlices("src")},
	"Activations.GELU":             {cases: overSlices("src")},
	"Activations.GELUTanh":         {cases: overSlices("src")},
	"Activations.SwiGLU":           {cases: overSlices("gate", "up")},
	"Activations.GeGLU":            {cases: overSlices("gate", "up")},
	"Activations.GeGLUTanh":        {cases: overSlices("gate", "up")},
	"Activations.SiLUBackward":     {cases: activationGradients},
	"Activations.GELUBackward":     {cases: activationGradients},
	"Activations.GELUTanhBackward": {cases: activationGradients},
	"Activations.TanhBackward":     {cases: fromResult},
	"Activations.SigmoidBackward":  {cases: fromResult},
	"Activations.GRU":              {cases: gru},
	"Activations.GRUBackward":      {cases: gruBackward},
}

// restColumns are numbers of columns that no step divides, which kernels of x86 for keys of narrow
// types take, too.
var restColumns = []int{17, 30, 39, 63, 72, 127, 135}

// contractOf returns what is known of a kernel.
func contractOf(k *Kernel) contract {
	if k.Array != "" && k.Array != k.Field {
		return contracts[k.Table+"."+k.Array+"."+k.Field]
	}
	return contracts[k.Table+"."+k.Field]
}
