package main

const helpAbout = `Usage: trace_layer TRACE... [flags]

Prints the GPU kernels of one decode layer with the time each takes, from a
torch.profiler trace (Chrome JSON; plain, gzip or zstd, told by content).
TRACE may be "-" for standard input, or a directory: its *.json, *.json.gz and
*.json.zst. Several traces, such as one for each rank, are done one after the
other and summed up. Flags may stand before or after them.

A kernel that runs once a layer is the anchor. Kernels are put into passes, by
step label or graph launch, and each pass is cut into prologue, layers and
epilogue. A layer begins at its first kernel, mostly a norm. Layers of another
kind get a table of their own.

Examples:
  trace_layer rank0.json.gz                          table, and conc32_layer.csv
  trace_layer rank0.json.gz --csv out/tp8.csv        out/conc32_tp8.csv
  trace_layer rank0.json.gz --pa-pattern fmha_fwd    another attention kernel
  trace_layer rank0.json.gz --phase prefill          prefill steps instead
  trace_layer rank0.json.gz --bs 8 --skip-passes 2   steps of 8 requests but the first two
  trace_layer traces/                                a table for each trace in it
  trace_layer rank0.json.gz --json | jq '.groups[0].total_us'
`

const helpNotes = `
Notes:
  - ROCm's profiler needs about 2 s to warm up, and the trace has no GPU kernel
    before that. Record long enough for a steady state: five times the prompts
    or more (--num-prompts-mul 5).
  - GPU kernels and CPU labels are rows of different processes (pid). Their
    times cannot tell which kernel belongs to which label, and are not compared.
  - The first and last layers of a step may have more or fewer kernels than the
    rest. What is not the layer's own is in the prologue and the epilogue. With
    --streams merged such layers are left out, as in the script.
  - Communication varies most from layer to layer (Max/p50 around 1.7); compute
    hardly does (around 1.1). A compute kernel far above that deserves a look.

Passes and streams:
  --streams auto (the default) takes a side stream's kernels into the layers
  where they recur in them, and lists the others as strays. merged, or the ID
  of one stream, cuts from anchor to anchor as the script did: the most
  frequent number of kernels wins, the last layer of a pass is missing, and
  positions count from the anchor.
  Without --phase, decode steps are taken if labels place 90 % of the kernels,
  else all passes; the line "Phase:" says which. Without --bs, steps of several
  sizes are averaged, and a note says so. --bs counts requests, --graph-bs the
  padded size of the graph. The flags that choose passes need --streams auto.

Output:
  stdout has the result: the tables, the time of a layer and where the time of
  the passes goes, what was left out, the mixed positions, the strays.
  stderr has the rest: progress, warnings about the file, notes on the numbers.
  --pid and --device choose kernels; step labels always come from every
  process. Times are microseconds. Avg and TOTAL are of the kernels alone; Wall
  runs from a layer's first start to its last end, Busy is when a kernel runs,
  Exposed comm when nothing but collectives does.
  Without --csv the file is concN_layer.csv, N being the requests of most
  decode layers in the table (with --streams merged, of most decode steps in
  the trace); of several traces concN_TRACE_layer.csv. There is none with
  --json, without decode steps, or if --phase takes others.
  In the table and the CSV, control characters of a name are shown as escapes
  (\x1b, \t), and a CSV cell that a spreadsheet could run starts with '.

Exit status: 0 done, 1 the input (or one of several) does not allow it, 2 wrong use.
`
