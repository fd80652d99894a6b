import Lake

open Lake DSL System

/-!
The Lean package of the TorchLean runtime. It depends on Lean alone.

The core comes from the first of these:

  lake -Kprefix=/opt/torchlean build  an installed tree
  lake build                          the installed tree that this package is part of
                                      (share/torchlean/lean in it), else it is built from the
                                      repository around this package, with CMake

In each case the C shim is compiled here, against this toolchain's own lean.h.
-/

/-- An installed tree: include/, lib/. -/
def foundPrefix : Option String := run_io do
  if let some folder := get_config? prefix then return some folder
  let around := __dir__ / ".." / ".." / ".."
  if ← (around / "lib" / "libtorchlean_core.so").pathExists then return some around.toString
  return none

def corePrefix : FilePath := foundPrefix.getD (__dir__ / ".lake" / "core").toString

/-- The C compiler of this machine; it has the headers of the C library, which Lean's own lacks. -/
def compiler : String := run_io do
  return (← IO.getEnv "CC").getD "cc"

/-- libgcc_s.so.1 comes first: the whole process then has one C++ unwinder, and any C++ backend
works in it. Lean's own library exports only a part of one. -/
def unwinder : String := run_io do
  let found ← IO.Process.output { cmd := compiler, args := #["-print-file-name=libgcc_s.so.1"] }
  return (found.stdout.splitOn "\n").headD "-l:libgcc_s.so.1"

/-- What programs on the runtime link, in this order. Repeat it in your own package. -/
def runtimeLinkArgs : Array String := #[
  "-Wl,--no-as-needed", unwinder,
  s!"-L{corePrefix / "lib"}", "-ltorchlean_core", s!"-Wl,-rpath,{corePrefix / "lib"}",
  -- The core may be newer than the C library that Lean's linker knows; the loader resolves it.
  "-Wl,--allow-shlib-undefined"]

package torchlean_runtime where
  version := v!"0.1.0"
  testDriver := "tests"
  moreLinkArgs := runtimeLinkArgs

@[default_target]
lean_lib TorchLeanRuntime where
  roots := #[`TorchLean.Runtime.Buffer, `TorchLean.Runtime.Kernels]

/-- The core, built with CMake unless there is an installed one. -/
target core pkg : FilePath := Job.async do
  let library := corePrefix / "lib" / "libtorchlean_core.so"
  if foundPrefix.isSome then
    unless ← library.pathExists do
      error s!"{library} does not exist; -Kprefix must name an installed tree of the runtime"
    return library
  let build := (pkg.buildDir / "core").toString
  let repository := (pkg.dir / "..").toString
  proc { cmd := "cmake", args := #["-S", repository, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
    "-DTORCHLEAN_TESTS=OFF", "-DTORCHLEAN_BENCH=OFF"] }
  proc { cmd := "cmake", args := #["--build", build, "--parallel"] }
  proc { cmd := "cmake", args := #["--install", build, "--prefix", corePrefix.toString] }
  return library

def shimSources : Array String := #["buffer", "call", "controls", "convolution", "elementwise",
  "encoded", "fourier", "indexing", "kernel", "layout", "loss", "matmul", "normalization",
  "object", "optimizer", "pooling", "random", "reduction", "runtime", "scan", "transfer", "view"]

extern_lib torchlean_lean pkg := do
  let coreJob ← core.fetch
  let flags := #["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden",
    "-I", (← getLeanIncludeDir).toString, "-I", (corePrefix / "include").toString]
  let objects ← shimSources.mapM fun name => do
    let source ← inputTextFile (pkg.dir / "ffi" / s!"{name}.c")
    -- The core's headers are there once it has been built.
    let source := coreJob.bindM fun _ => pure source
    buildO (pkg.buildDir / "ffi" / s!"{name}.o") source flags #[] compiler
  buildStaticLib (pkg.buildDir / "lib" / nameToStaticLib "torchlean_lean") objects

lean_exe status where
  root := `Status
  srcDir := "examples"

lean_exe digits where
  root := `Digits
  srcDir := "examples"

lean_exe tests where
  root := `Tests
