package main

const helpAbout = `Usage: trace_layer TRACE [flags]

Prints the GPU kernels of one decode layer with the time each takes, from a
torch.profiler trace (Chrome JSON; plain, gzip or zstd, told by content).
TRACE may be "-" for standard input. Flags may stand before or after it.

A kernel that runs once a layer is the anchor. From one anchor to the next is
a layer; the most frequent number of kernels wins, and what has another number
is left out and counted.

Examples:
  trace_layer rank0.json.gz                          table, and conc32_layer.csv
  trace_layer rank0.json.gz --csv out/tp8.csv        out/conc32_tp8.csv
  trace_layer rank0.json.gz --pa-pattern fmha_fwd    another attention kernel
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
    rest; those are left out, as whatever is not of the most frequent length.
  - Communication varies most from layer to layer (Max/p50 around 1.7); compute
    hardly does (around 1.1). A compute kernel far above that deserves a look.

Output:
  stdout has the result: the table, the layers left out, the mixed positions.
  stderr has the rest: progress, warnings about the file, notes on the numbers.
  --pid, --device and --streams choose kernels; step labels always come from
  every process. Times are microseconds, of the kernels alone.
  In the table and the CSV, control characters of a name are shown as escapes
  (\x1b, \t), and a CSV cell that a spreadsheet could run starts with '.

Exit status: 0 done, 1 the input does not allow it, 2 wrong use.
`
