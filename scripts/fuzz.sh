#!/bin/sh
# Builds every fuzz target and runs each for so many seconds: scripts/fuzz.sh [SECONDS [TARGET]]. What is found stays in
# target/fuzz/found; the corpora, from which the next run goes on, in target/fuzz/corpus.
#
# libFuzzer needs options of the compiler that only a nightly one has by itself: RUSTC_BOOTSTRAP=1 lets the stable one take
# them. They are those of cargo-fuzz (https://github.com/rust-fuzz/cargo-fuzz, src/project.rs).
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
only=${2:-}
root=$PWD
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="${FUZZ_DIR:-$root/target/fuzz}"
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Zsanitizer=address"
# AddressSanitizer takes a constant of the bundled sqlite3.c for one that is defined twice, and ends every run of `study` with it.
export ASAN_OPTIONS=detect_odr_violation=0
found=0
for folder in crates/blg/fuzz crates/nbd/fuzz crates/fuse/fuzz crates/crash-tests/fuzz fuzz; do
    # The versions of the project's own lock file, and libFuzzer's beside them.
    [ -f "$folder/Cargo.lock" ] || cp Cargo.lock "$folder/Cargo.lock"
    for source in "$folder"/fuzz_targets/*.rs; do
        target=$(basename "$source" .rs)
        [ -z "$only" ] || [ "$only" = "$folder/$target" ] || [ "$only" = "$target" ] || continue
        cargo build --release --target "$host" --manifest-path "$folder/Cargo.toml" --bin "$target"
        corpus="$CARGO_TARGET_DIR/corpus/$folder/$target"
        crashes="$CARGO_TARGET_DIR/found/$folder/$target/"
        mkdir -p "$corpus" "$crashes"
        # What to begin with: random bytes hardly ever become a table of settings, or a log. New inputs go to the corpus alone.
        case "$folder/$target" in
        fuzz/study) seeds=studies ;;
        fuzz/catalogue) seeds=crates/catalogue/models ;;
        fuzz/volumes) seeds=packaging/examples ;;
        crates/blg/fuzz/log)
            seeds="$CARGO_TARGET_DIR/seeds"
            mkdir -p "$seeds"
            python3 tests/diagnose/blg_logs.py "$seeds"
            ;;
        *) seeds= ;;
        esac
        echo "== $folder/$target: $seconds s"
        "$CARGO_TARGET_DIR/$host/release/$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=30 \
            -print_final_stats=1 -artifact_prefix="$crashes" "$corpus" $seeds || found=1
    done
done
exit $found
