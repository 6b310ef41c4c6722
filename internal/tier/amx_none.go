//go:build !amd64 || purego

package tier

// TileUnit says whether kernels use a unit for tiles, or why not; "" if no kernels are for one.
func TileUnit() string { return "" }

// unusable tells whether kernels cannot use a feature.
func unusable(feature string) bool { return lacks(feature) }
