#!/usr/bin/env bash
# mca.sh predicts the throughput of the hottest loops in package asm with llvm-mca.
# It prints FMAs per cycle as a share of a limit, which llvm-mca predicts as well. For
# GEMM the limit is the rate of the peak probe, a loop of independent FMAs. For softmax
# it is the rate at which the busiest execution unit of the same loop is never idle.
#
# These are predictions by models of processors, not measurements. The models ignore
# caches, branch prediction, and the start and end of a loop.
#
#   mca.sh                    prints the report
#   mca.sh show FUNCTION      prints the loops of a function as llvm-mca sees them
#   mca.sh counts             prints the instructions of the products of RVV, counted by qemu (a minute)
#
# Needs llvm-mca and llvm-objdump of version LLVM_VERSION (default 19).
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${LLVM_VERSION:-19}
mca=llvm-mca-$version objdump=llvm-objdump-$version
for tool in "$mca" "$objdump"; do
	command -v "$tool" >/dev/null || { echo "NOT RUN: the mca report, because $tool is missing (apt-get install llvm-$version)"; exit 0; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# binary ARCH: builds $work/ARCH, the tests of package tier. They link all of package asm, and little else.
binary() {
	[ -e "$work/$1" ] || GOOS=linux GOARCH=$1 CGO_ENABLED=0 go test -c -o "$work/$1" ./internal/tier
}

# loops ARCH FUNCTION: writes the function's hottest loops to $work/FUNCTION.1, .2, ...,
# and the number of FMAs, or products of tiles, in each to $work/FUNCTION.fmas.
#
# The hottest loops are the innermost ones with the most FMAs: the first one, or on
# arm64 the first two. They compute blocks of full height. Later loops with as many FMAs
# compute the lower blocks that remain.
#
# A loop ends with a jump to an earlier instruction of the function. It is innermost if
# it contains no other loop.
loops() {
	[ ! -e "$work/$2.fmas" ] || return 0
	binary "$1"
	local loops=1
	[[ $1 != arm64 && $2 != product[124]RVV ]] || loops=2
	local factor=1 attributes=
	[ "$1" = riscv64 ] && attributes=--mattr=+v,+c,+f,+d
	[[ $2 != product[124]RVV ]] || factor=${2:7:1} # an instruction is for so many registers
	[[ $2 != skinny*RVV ]] || factor=2
	$objdump -d $attributes --no-show-raw-insn --disassemble-symbols="github.com/attn-go/attn/asm.$2.abi0" "$work/$1" |
		awk -v out="$work/$2." -v loops=$loops -v factor=$factor -v attributes="$attributes" '
		function jumps(line) { return line ~ /^(b\.|b[ \t]|cbn?z|j[a-z]+|b(nez|eqz|gez|ltz|ge|lt|eq|ne)[ \t])/ }
		/^ *[0-9a-f]+:/ {
			address = $1
			sub(/:/, "", address)
			text[++n] = $0
			sub(/^ *[0-9a-f]+:[ \t]*/, "", text[n])
			at[address] = n
			fmas[n] = fmas[n-1] + factor * (text[n] ~ /^(fmla|vfn?m(add|sub|acc)|tdp)/)
		}
		END {
			for (i = 1; i <= n; i++) {
				if (!jumps(text[i]) || !match(text[i], /0x[0-9a-f]+/)) continue
				start = at[substr(text[i], RSTART + 2, RLENGTH - 2)]
				# last is where the previous loop starts. If this one starts before it, it
				# contains the previous loop.
				if (!start || start > i || last >= start) continue
				last = start
				first[++count] = start
				end[count] = i
				in_loop[count] = fmas[i] - fmas[start-1]
				if (in_loop[count] > most) most = in_loop[count]
			}
			for (l = 1; l <= count; l++) {
				if (!most || in_loop[l] < most || found == loops) continue
				file = out (++found)
				if (attributes) print "# LLVM-MCA-RISCV-LMUL M" factor "\n# LLVM-MCA-RISCV-SEW E32" > file
				print "loop:" > file
				for (i = first[l]; i <= end[l]; i++) {
					line = text[i]
					sub(/[ \t]*<.*>/, "", line)
					if (jumps(line)) sub(/(0x)[0-9a-f]+/, "loop", line)
					print line > file
				}
			}
			print most + 0
		}' >"$work/$2.fmas"
	[ "$(<"$work/$2.fmas")" != 0 ] || { echo "mca.sh: found no loop with FMAs in asm.$2 ($1)" >&2; exit 1; }
}

# cycles TRIPLE CPU FILE: prints the cycles of one iteration, and the cycles that the
# busiest execution unit needs for it. The latter is mca's block throughput. That misses
# the instructions that can run on several of ARM's vector units, so it is the average
# load of these units if that is higher.
cycles() {
	$mca -mtriple="$1" -mcpu="$2" -iterations=1000 "$3" 2>&1 | awk '
		/error/ { print > "/dev/stderr" }
		/^Iterations:/ { n = $2 }
		/^Total Cycles:/ { iteration = $3 / n }
		/^Block RThroughput:/ { own = $3 }
		/^\[[0-9.]+\] +- .*UnitV[0-9]$/ { vector[$1] }
		/^Resource pressure per iteration:/ { getline; columns = split($0, column); getline; split($0, pressure) }
		END {
			for (c = 1; c <= columns; c++) if (column[c] in vector) { sum += pressure[c]; units++ }
			if (units && sum / units > own) own = sum / units
			print iteration, own
		}'
}

# row ARCH TRIPLE CPU FUNCTION LIMIT: prints a line for each hot loop of a function.
row() {
	local arch=$1 triple=$2 cpu=$3 name=$4 limit=$5 fmas file iteration own
	loops "$arch" "$name"
	fmas=$(<"$work/$name.fmas")
	for file in "$work/$name".[0-9]*; do
		read -r iteration own < <(cycles "$triple" "$cpu" "$file")
		awk -v cpu="$cpu" -v name="$name" -v kind="$(kind "$file")" -v fmas="$fmas" -v iteration="$iteration" -v own="$own" -v limit="$limit" 'BEGIN {
			rate = fmas / iteration
			if (name ~ /softmax/) limit = fmas / own
			printf "%-15s %-17s %-8s %5d %8.2f %9.2f %7.2f %5.0f%%\n", cpu, name, kind, fmas, iteration, rate, limit, 100 * rate / limit }'
	done
}

# kind FILE: prints how a NEON GEMM reads its left matrix, by numbers, by rows or by columns.
kind() {
	case $(grep -cE '^ldr[[:space:]]+s[0-9]+' "$1"):$(grep -cE '^ldr[[:space:]]+[dq][0-9]+, \[x[0-9]+, x[0-9]+\]' "$1"):$(grep -c 'v[0-9]*\.s\[' "$1") in
	*:0) echo - ;;
	0:0:*) echo columns ;;
	0:*) echo rows ;;
	*) echo numbers ;;
	esac
}

# with_model TRIPLE CPU: prints the first llvm-mca that has a model of the CPU.
with_model() {
	local m
	for m in "$mca" llvm-mca-21 llvm-mca-22; do
		if command -v "$m" >/dev/null && echo nop | $m -mtriple="$1" -mcpu="$2" >/dev/null 2>&1; then
			echo "$m"
			return
		fi
	done
	return 1
}

# counts: prints how many instructions the products of RVV execute for an FMA, as qemu counts them: every
# instruction is a block of its own, whose address goes to a log.
counts() {
	local qemu=qemu-riscv64-static vlen lanes size range first last a b address
	command -v $qemu >/dev/null || { echo "NOT RUN: the count of instructions, because $qemu is missing (apt-get install qemu-user-static)"; return; }
	binary riscv64
	printf 'Counted by qemu: instructions of a product of 256 rows and 64 columns, for an FMA of a lane.\n'
	printf '%-15s %-17s %5s %8s %9s %13s\n' VLEN function lanes instr. 'of FMA' 'instr. by FMA'
	for vlen in 128 256; do
		for size in 1 2 4; do
			lanes=$((size * (vlen < 512 ? vlen : 512) / 32))
			address=$($objdump --syms "$work/riscv64" | awk -v f="github.com/attn-go/attn/asm.product${size}RVV.abi0" '$NF == f { print $1, $(NF-1) }')
			read -r first last <<<"$address"
			GODEBUG=asyncpreemptoff=1 $qemu -cpu "rv64,v=true,vext_spec=v1.0,vlen=$vlen" -singlestep -d exec,nochain -dfilter "0x$first+0x$last" -D "$work/log" "$work/riscv64" \
				-test.run '^$' -test.bench "Kernels/kernel=GemmMax/tier=rvv/lanes=$lanes/" -test.benchtime 1x >/dev/null
			$objdump -d --mattr=+v,+c,+f,+d --no-show-raw-insn --disassemble-symbols="github.com/attn-go/attn/asm.product${size}RVV.abi0" "$work/riscv64" >"$work/text"
			awk -v vlen=$vlen -v size=$size -v lanes=$lanes '
				NR == FNR { if ($2 ~ /^vfmacc/) { sub(/:/, "", $1); at[$1] }; next }
				/^Trace/ { n++; split($0, part, "/"); address = part[2]; sub(/^0+/, "", address); if (address in at) fmas++ }
				END { printf "%-15s %-17s %5d %8d %9d %13.3f\n", vlen, "product" size "RVV", lanes, n, fmas, n / (fmas * lanes) }' "$work/text" "$work/log"
		done
	done
}

# tier NAME ARCH TRIPLE VECTORS CPU...: prints the rows of a tier, whose GEMM kernels
# compute blocks of one to VECTORS vectors.
tier() {
	local name=$1 arch=$2 triple=$3 vectors=$4 cpu limit iteration own v
	shift 4
	for cpu in "$@"; do
		loops "$arch" "peak$name"
		read -r iteration own < <(cycles "$triple" "$cpu" "$work/peak$name.1")
		limit=$(awk -v f="$(<"$work/peak$name.fmas")" -v c="$iteration" 'BEGIN { print f / c }')
		for ((v = 1; v <= vectors; v++)); do
			row "$arch" "$triple" "$cpu" "tileProduct$v$name" "$limit"
		done
		# On amd64 the longest loop of these is that of a single row, which waits for its chains.
		for v in "" F16; do
			[ "$arch" = amd64 ] || row "$arch" "$triple" "$cpu" "weightGemm$v$name" "$limit"
		done
		row "$arch" "$triple" "$cpu" "gemmEvenOdd3$name" "$limit"
		row "$arch" "$triple" "$cpu" "softmax$name" "$limit"
	done
}

# tiles FUNCTION PRODUCTS: prints the cycles of a loop of AMX tiles for so many products of 16 rows, 16 lanes and 32
# steps, and the multiple of the FMA peak, 32 steps of a lane a cycle.
#
# llvm-mca has no times of these instructions. A prototype on a Granite Rapids measured 16.6 cycles for TDPBSSD, 27.3 for
# TDPBF16PS, 16 for TILESTORED, and 8.4 for TILELOADD of 16 rows. Products and stores do not overlap. Vectors and loads of
# tiles do, by half: the prototype of the first loop took 42 to 45 cycles. Vectors are those of skylake-avx512, as the
# models of later CPUs have one unit for 512 bits.
tiles() {
	local iteration own
	loops amd64 "$1"
	grep -vE '^(tile|tdp)' "$work/$1.1" >"$work/$1.vectors"
	read -r iteration own < <(cycles x86_64 skylake-avx512 "$work/$1.vectors")
	awk -v name="$1" -v products="$2" -v vectors="$iteration" '
		/^tdpbssd/ { unit += 16.6 }
		/^tdpbf16ps/ { unit += 27.3 }
		/^tilestored/ { unit += 16 }
		/^tileload/ { loads += 8.4 }
		END {
			beside = vectors > loads ? vectors : loads
			all = unit > beside ? unit + beside / 2 : beside + unit / 2
			printf "%-40s %8d %7.0f %8.0f %7.0f %7.0f %7.1f\n", name, products, unit, vectors, loads, all, products * 256 / all
		}' "$work/$1.1"
}

if [ "${1:-}" = show ]; then
	arch=amd64
	[[ $2 = *NEON ]] && arch=arm64
	[[ $2 = *RVV ]] && arch=riscv64
	loops "$arch" "$2"
	cat "$work/$2".[0-9]*
	exit
fi

if [ "${1:-}" = counts ]; then
	counts
	exit
fi

echo "Predicted by llvm-mca $version, not measured: innermost loops, with all data in L1."
printf '%-15s %-17s %-8s %5s %8s %9s %7s %6s\n' CPU function 'A by' FMAs cycles FMA/cycle limit '%'
tier AVX2 amd64 x86_64 3 haswell skylake-avx512 alderlake sapphirerapids znver4
tier AVX512 amd64 x86_64 4 skylake-avx512 sapphirerapids znver4
tier NEON arm64 aarch64 3 neoverse-n1 neoverse-v1 neoverse-v2

printf '\n%-40s %8s %7s %8s %7s %7s %7s\n' 'loops of AMX tiles, cycles' products unit vectors loads all '× peak'
tiles weightGemmInt8TilesAVX512 1
tiles weightGemmInt8TilesMinimaAVX512 1
tiles weightGemmInt8TilesX32MinimaAVX512 1
tiles weightGemmInt8TilesX16AVX512 1
tiles gemmTilesAVX512 6
tiles gemmHalvesAVX512 1
echo

# A step of RVV is the same for registers of any length, and so are FMAs of a register a cycle.
for cpu in sifive-p670 spacemit-x60; do
	if ! mca=$(with_model riscv64 $cpu); then
		echo "NOT RUN: $cpu, as no llvm-mca here has a model of it: version 21 and later have (apt-get install llvm-22)"
		continue
	fi
	[ "$mca" = "llvm-mca-$version" ] || echo "$cpu by $mca:"
	loops riscv64 peakRVV
	read -r iteration own < <(cycles riscv64 $cpu "$work/peakRVV.1")
	limit=$(awk -v f="$(<"$work/peakRVV.fmas")" -v c="$iteration" 'BEGIN { print f / c }')
	for name in product1RVV product2RVV product4RVV skinnyQKRVV skinnyPVRVV; do
		row riscv64 riscv64 $cpu $name "$limit"
	done
done
