/-!
# Buffers of the TorchLean runtime

A buffer is a flat, contiguous, row-major array of one scalar kind, held by the backend that
serves the process (`TORCHLEAN_BACKEND`). Shapes are never stored; operations that need one take
it.

Failure. Functions in `IO` throw: `resourceExhausted` where memory is exhausted (release buffers
and try less), `userError` for a wrong argument or an operation that the backend lacks,
`otherError` for a fault of backend or device. Pure functions end the process with the message,
or, with `TORCHLEAN_ON_ERROR=poison`, return a poisoned buffer that makes the next `IO` function
fail with it.

Rounding. A `Float` becomes the buffer's kind once, to nearest even. `docs/operations.md` states
every operation's formula and error bound.

This file uses no notation beyond Lean's own syntax (`Prod`, not its sign): it also compiles
against a prelude that has none.
-/

namespace TorchLean.Runtime

/-- Scalar kind of a buffer. `encoded` buffers hold words of a `FloatFormat`. -/
inductive Dtype where
  | float32
  | float64
  | encoded

instance : Inhabited Dtype := ⟨Dtype.float32⟩

/-- How the all-ones exponent of a format is used. -/
inductive FloatEncoding where
  /-- As IEEE 754: infinities and NaN. -/
  | ieee
  /-- No infinity; all-ones exponent and fraction is NaN. -/
  | finiteMaxNaN
  /-- No infinity, one zero; the pattern of -0 is the only NaN. -/
  | finiteUnsignedZero
  /-- Every pattern is a finite number. -/
  | finite

/-- A binary format: sign, exponent, fraction from the top of a word of at most 256 bits. -/
structure FloatFormat where
  expWidth : Nat
  fracWidth : Nat
  exponentBias : Nat
  encoding : FloatEncoding

namespace FloatFormat

def binary16 : FloatFormat := ⟨5, 10, 15, FloatEncoding.ieee⟩
def bfloat16 : FloatFormat := ⟨8, 7, 127, FloatEncoding.ieee⟩
def binary32 : FloatFormat := ⟨8, 23, 127, FloatEncoding.ieee⟩
def binary64 : FloatFormat := ⟨11, 52, 1023, FloatEncoding.ieee⟩
def binary128 : FloatFormat := ⟨15, 112, 16383, FloatEncoding.ieee⟩
def tf32 : FloatFormat := ⟨8, 10, 127, FloatEncoding.ieee⟩
def e5m2 : FloatFormat := ⟨5, 2, 15, FloatEncoding.ieee⟩
def e4m3fn : FloatFormat := ⟨4, 3, 7, FloatEncoding.finiteMaxNaN⟩
def e4m3fnuz : FloatFormat := ⟨4, 3, 8, FloatEncoding.finiteUnsignedZero⟩
def e5m2fnuz : FloatFormat := ⟨5, 2, 16, FloatEncoding.finiteUnsignedZero⟩
def e2m1 : FloatFormat := ⟨2, 1, 1, FloatEncoding.finite⟩
def e2m3 : FloatFormat := ⟨2, 3, 1, FloatEncoding.finite⟩
def e3m2 : FloatFormat := ⟨3, 2, 3, FloatEncoding.finite⟩

/-- Bytes of one word: all bits, rounded up. -/
def width (format : FloatFormat) : Nat :=
  Nat.div (Nat.add (Nat.add format.expWidth format.fracWidth) 8) 8

end FloatFormat

opaque BufferPointed : NonemptyType

/-- A handle to a buffer. Dropping the last reference frees the payload, on whichever thread. -/
def Buffer : Type := BufferPointed.type

instance : Nonempty Buffer := BufferPointed.property

/-! ## Tokens

A symbol that reads a counter or releases something is pure to Lean: two calls with equal
arguments may be shared, and one with constant arguments hoisted. Native code ignores the token;
a fresh one makes each call its own. -/

initialize tokenCounter : IO.Ref UInt32 ← IO.mkRef 0

/-- Another token at each call. -/
def freshToken : IO UInt32 :=
  tokenCounter.modifyGet fun token => (token, UInt32.add token 1)

/-! ## State of the runtime -/

/-- What serves the process. -/
inductive RuntimeStatus where
  /-- No backend: every operation fails and says why. -/
  | notLinked
  /-- A backend is loaded and its device is usable. -/
  | nativeAvailable
  /-- A backend is loaded but has no usable device. -/
  | nativeUnavailable

namespace RuntimeStatus

/-- 0, 1, 2 in order; any other code is `nativeUnavailable`. -/
def ofCode (code : UInt32) : RuntimeStatus :=
  match code.toNat with
  | 0 => notLinked
  | 1 => nativeAvailable
  | _ => nativeUnavailable

def name (status : RuntimeStatus) : String :=
  match status with
  | notLinked => "TorchLean.Runtime.RuntimeStatus.notLinked"
  | nativeAvailable => "TorchLean.Runtime.RuntimeStatus.nativeAvailable"
  | nativeUnavailable => "TorchLean.Runtime.RuntimeStatus.nativeUnavailable"

end RuntimeStatus

instance : Repr RuntimeStatus := ⟨fun status _ => Std.Format.text status.name⟩

instance : DecidableEq RuntimeStatus := fun a b =>
  match a, b with
  | .notLinked, .notLinked => isTrue rfl
  | .nativeAvailable, .nativeAvailable => isTrue rfl
  | .nativeUnavailable, .nativeUnavailable => isTrue rfl
  | .notLinked, .nativeAvailable => isFalse (fun same => RuntimeStatus.noConfusion same)
  | .notLinked, .nativeUnavailable => isFalse (fun same => RuntimeStatus.noConfusion same)
  | .nativeAvailable, .notLinked => isFalse (fun same => RuntimeStatus.noConfusion same)
  | .nativeAvailable, .nativeUnavailable => isFalse (fun same => RuntimeStatus.noConfusion same)
  | .nativeUnavailable, .notLinked => isFalse (fun same => RuntimeStatus.noConfusion same)
  | .nativeUnavailable, .nativeAvailable => isFalse (fun same => RuntimeStatus.noConfusion same)

@[extern "torchlean_cuda_runtime_status", never_extract, noinline]
private opaque runtimeStatusCode (token : UInt32) : UInt32

/-- The state now; starts the runtime at the first call. Never throws. -/
def runtimeStatus : IO RuntimeStatus := do
  let token ← freshToken
  pure (RuntimeStatus.ofCode (runtimeStatusCode token))

@[extern "torchlean_runtime_collect_allocator", never_extract, noinline]
private opaque collectAllocatorWithToken (token : UInt32) : UInt32

/-- Lets a value be computed for its effect. -/
@[noinline, never_extract]
private def after {α : Type} (_effect : α) : IO Unit := pure ()

/-- Gives unused host memory back to the system. Invalidates nothing, leaves device caches alone. -/
def collectAllocator : IO Unit := do
  let token ← freshToken
  after (collectAllocatorWithToken token)

/-! ## Devices, settings, versions -/

@[extern "torchlean_libtorch_version", never_extract, noinline]
private opaque libraryVersionWithToken (token : UInt32) : String

/-- What the backend computes with, as in `LibTorch 2.15.0`; `unavailable` where none serves. -/
def libraryVersion : IO String := do
  let token ← freshToken
  pure (libraryVersionWithToken token)

@[extern "torchlean_libtorch_device_count", never_extract, noinline]
private opaque deviceCountWithToken (token : UInt32) : UInt32

/-- Devices that the backend can select; 0 where none serves. -/
def deviceCount : IO UInt32 := do
  let token ← freshToken
  pure (deviceCountWithToken token)

@[extern "torchlean_libtorch_get_device", never_extract, noinline]
private opaque getDeviceWithToken (token : UInt32) : UInt32

/-- The selected device. -/
def getDevice : IO UInt32 := do
  let token ← freshToken
  pure (getDeviceWithToken token)

/-- Selects a device. Throws while any buffer is alive, released ones too, and where there is no
such device. -/
@[extern "torchlean_libtorch_set_device"]
opaque setDevice (index : UInt32) : IO Unit

/-- A switch: 0 TF32 in matrix products, 1 TF32 in convolutions, 2 deterministic mode, 3 cuDNN
benchmark, 4 to 7 flash, memory-efficient, math and cuDNN attention, 8 cuDNN. 0 or 1; throws for
other ids. -/
@[extern "torchlean_libtorch_get_setting"]
opaque getSetting (id : UInt32) : IO UInt32

/-- Turns a switch on (not 0) or off, process-wide. Throws for unknown ids, and for 3 in
deterministic mode. -/
@[extern "torchlean_libtorch_set_setting"]
opaque setSetting (id : UInt32) (enabled : UInt32) : IO Unit

@[extern "torchlean_libtorch_get_memory_fraction"]
private opaque memoryFractionWithToken (token : UInt32) : IO Float

/-- The share of the device's memory that may be used; 1 when unset, 0 where no backend serves. -/
def memoryFraction : IO Float := do
  let token ← freshToken
  memoryFractionWithToken token

/-- Caps the memory of the selected device at `fraction`, above 0 and at most 1. What does not
fit then throws `resourceExhausted`. -/
@[extern "torchlean_libtorch_set_memory_fraction"]
opaque setMemoryFraction (fraction : Float) : IO Unit

@[extern "torchlean_libtorch_synchronize"]
private opaque synchronizeWithToken (token : UInt32) : IO Unit

/-- Waits for all submitted work; throws a fault of an earlier operation. -/
def synchronize : IO Unit := do
  let token ← freshToken
  synchronizeWithToken token

@[extern "torchlean_libtorch_empty_cache"]
private opaque emptyCacheWithToken (token : UInt32) : IO Unit

/-- Gives the device's cached, unused memory back. -/
def emptyCache : IO Unit := do
  let token ← freshToken
  emptyCacheWithToken token

/-- Name of a device. Throws, as the next ones, where there is no such device. -/
@[extern "torchlean_libtorch_device_name"]
opaque deviceName (index : UInt32) : IO String

/-- 10 * major + minor on CUDA, 0 on a host. -/
@[extern "torchlean_libtorch_device_capability"]
opaque deviceCapability (index : UInt32) : IO UInt32

/-- Multiprocessors of a device. -/
@[extern "torchlean_libtorch_device_sm_count"]
opaque deviceSmCount (index : UInt32) : IO UInt32

/-- Clock in kHz; 0 where it has no meaning, as the next two. -/
@[extern "torchlean_libtorch_device_clock_khz"]
opaque deviceClockKhz (index : UInt32) : IO UInt32

/-- Clock of the device's memory in kHz. -/
@[extern "torchlean_libtorch_device_mem_clock_khz"]
opaque deviceMemClockKhz (index : UInt32) : IO UInt32

/-- Width of the memory bus in bits. -/
@[extern "torchlean_libtorch_device_mem_bus_width"]
opaque deviceMemBusWidth (index : UInt32) : IO UInt32

/-- Memory of a device in bytes. -/
@[extern "torchlean_libtorch_device_total_bytes"]
opaque deviceTotalBytes (index : UInt32) : IO UInt64

@[extern "torchlean_libtorch_driver_version"]
private opaque driverVersionWithToken (token : UInt32) : IO UInt32

/-- CUDA's number of the driver (13000 for 13.0); 0 on a host. -/
def driverVersion : IO UInt32 := do
  let token ← freshToken
  driverVersionWithToken token

@[extern "torchlean_libtorch_runtime_version"]
private opaque runtimeVersionWithToken (token : UInt32) : IO UInt32

/-- CUDA's number of its runtime library; 0 on a host. -/
def runtimeVersion : IO UInt32 := do
  let token ← freshToken
  runtimeVersionWithToken token

/-- Throws, naming `context`, unless a CUDA device is there to compute on. -/
def requireCuda (context : String) : IO Unit := do
  let status ← runtimeStatus
  match status with
  | .nativeAvailable =>
    let device ← getDevice
    let capability ← deviceCapability device
    match Nat.beq capability.toNat 0 with
    | false => pure ()
    | true => refuse "the serving backend computes on the host (nativeAvailable)"
  | .notLinked => refuse "no backend serves (notLinked)"
  | .nativeUnavailable => refuse "the backend has no usable device (nativeUnavailable)"
where
  refuse (reason : String) : IO Unit :=
    throw (IO.userError (String.append context (String.append ": a CUDA device is needed, but "
      (String.append reason
        "; set TORCHLEAN_BACKEND to a CUDA backend; `torchlean status` shows what was found"))))

/-! ## Figures -/

@[extern "torchlean_cuda_allocator_live_bytes", never_extract, noinline]
private opaque liveBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_allocator_peak_bytes", never_extract, noinline]
private opaque peakBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_allocator_alloc_count", never_extract, noinline]
private opaque allocCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_allocator_free_count", never_extract, noinline]
private opaque freeCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_wrapper_live_count", never_extract, noinline]
private opaque wrapperLiveCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_wrapper_peak_count", never_extract, noinline]
private opaque wrapperPeakCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_wrapper_alloc_count", never_extract, noinline]
private opaque wrapperAllocCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_wrapper_finalize_count", never_extract, noinline]
private opaque wrapperFinalizeCountWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_allocator_device_free_bytes", never_extract, noinline]
private opaque deviceFreeBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_cuda_allocator_device_total_bytes", never_extract, noinline]
private opaque deviceTotalBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_libtorch_allocated_bytes", never_extract, noinline]
private opaque allocatedBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_libtorch_reserved_bytes", never_extract, noinline]
private opaque reservedBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_libtorch_peak_allocated_bytes", never_extract, noinline]
private opaque peakAllocatedBytesWithToken (token : UInt32) : UInt64
@[extern "torchlean_libtorch_peak_reserved_bytes", never_extract, noinline]
private opaque peakReservedBytesWithToken (token : UInt32) : UInt64

/-- Counters of the process, and figures of the backend's allocator (0 where none serves).
Payloads are those of nonempty buffers; wrappers are the Lean objects, empty and released buffers
included. -/
structure AllocatorStats where
  liveBytes : UInt64
  peakBytes : UInt64
  allocCount : UInt64
  freeCount : UInt64
  wrapperLiveCount : UInt64
  wrapperPeakCount : UInt64
  wrapperAllocCount : UInt64
  wrapperFinalizeCount : UInt64
  deviceFreeBytes : UInt64
  deviceTotalBytes : UInt64
  allocatedBytes : UInt64
  reservedBytes : UInt64
  peakAllocatedBytes : UInt64
  peakReservedBytes : UInt64

/-- The figures now, read one after the other: no atomic snapshot. -/
def allocatorStats : IO AllocatorStats := do
  let token ← freshToken
  pure {
    liveBytes := liveBytesWithToken token
    peakBytes := peakBytesWithToken token
    allocCount := allocCountWithToken token
    freeCount := freeCountWithToken token
    wrapperLiveCount := wrapperLiveCountWithToken token
    wrapperPeakCount := wrapperPeakCountWithToken token
    wrapperAllocCount := wrapperAllocCountWithToken token
    wrapperFinalizeCount := wrapperFinalizeCountWithToken token
    deviceFreeBytes := deviceFreeBytesWithToken token
    deviceTotalBytes := deviceTotalBytesWithToken token
    allocatedBytes := allocatedBytesWithToken token
    reservedBytes := reservedBytesWithToken token
    peakAllocatedBytes := peakAllocatedBytesWithToken token
    peakReservedBytes := peakReservedBytesWithToken token }

private def figure (name : String) (value : UInt64) (rest : String) : String :=
  String.append name (String.append (toString value) rest)

/-- One line; logical payloads first, then the backend's native storage. -/
def AllocatorStats.report (stats : AllocatorStats) : String :=
  figure "payloads: " stats.liveBytes (figure " bytes live, peak " stats.peakBytes
    (figure ", made " stats.allocCount (figure ", retired " stats.freeCount
      (figure "; wrappers: " stats.wrapperLiveCount (figure " live, peak " stats.wrapperPeakCount
        (figure ", made " stats.wrapperAllocCount (figure ", finalized " stats.wrapperFinalizeCount
          (figure " | native: " stats.allocatedBytes (figure " bytes allocated, peak "
            stats.peakAllocatedBytes (figure "; " stats.reservedBytes (figure " reserved, peak "
              stats.peakReservedBytes (figure "; device: " stats.deviceFreeBytes
                (figure " free of " stats.deviceTotalBytes "")))))))))))))

namespace Buffer

/-! ## What a buffer is -/

/-- The failure of a pure computation of the program's own: ends the process with the message, or
gives a poisoned buffer. -/
@[extern "torchlean_cuda_buffer_fail", never_extract]
opaque fail (message : @& String) : Buffer

/-- Scalar kind. Fails on a released or poisoned buffer. -/
@[extern "torchlean_cuda_buffer_dtype", never_extract]
opaque dtype (b : @& Buffer) : Dtype

/-- The format of an encoded buffer, `none` for native ones. Fails on a released or poisoned
buffer. -/
@[extern "torchlean_cuda_buffer_format", never_extract]
opaque format? (b : @& Buffer) : Option FloatFormat

/-- Number of elements; 0 for a released or poisoned buffer. Release may change it between two
calls: see `sizeIO`. -/
@[extern "torchlean_cuda_buffer_size", never_extract]
opaque size (b : @& Buffer) : UInt32

@[extern "torchlean_cuda_buffer_size_with_token", never_extract, noinline]
private opaque sizeWithToken (b : @& Buffer) (token : UInt32) : UInt32

/-- The number of elements now. -/
def sizeIO (b : Buffer) : IO UInt32 := do
  let token ← freshToken
  pure (sizeWithToken b token)

/-! ## Release -/

@[extern "torchlean_cuda_buffer_release_with_token", never_extract, noinline]
private opaque releaseWithToken (b : @& Buffer) (token : UInt32) : UInt32

/-- Retires the payload at once; all references see a released, empty buffer. True if there was one;
releasing twice is harmless. -/
def release (b : Buffer) : IO Bool := do
  let token ← freshToken
  match Nat.beq (releaseWithToken b token).toNat 0 with
  | true => pure false
  | false => pure true

/-- `keep` itself, once `workspace` has been released; both may be the same buffer. -/
@[extern "torchlean_cuda_buffer_release_then", never_extract, noinline]
opaque releaseThen (workspace : @& Buffer) (keep : @& Buffer) : Buffer

/-- `keep` itself, once all `workspaces` have been released, left to right. -/
def releaseAllThen (workspaces : Array Buffer) (keep : Buffer) : Buffer :=
  workspaces.foldl (fun kept workspace => releaseThen workspace kept) keep

/-- A result with the buffers that were needed to compute it. -/
structure WithWorkspace where
  value : Buffer
  workspace : Array Buffer

namespace WithWorkspace

/-- Releases the workspaces of `r` and returns `keep`. -/
def releaseWorkspaceThen (r : WithWorkspace) (keep : Buffer) : Buffer :=
  releaseAllThen r.workspace keep

/-- Releases workspaces and value of `r` and returns `keep`. -/
def releaseAllThen (r : WithWorkspace) (keep : Buffer) : Buffer :=
  releaseThen r.value (releaseWorkspaceThen r keep)

end WithWorkspace

/-! ## Copies: the same bits, encoded buffers too -/

/-- An independent copy. -/
@[extern "torchlean_cuda_buffer_copy", never_extract]
opaque copy (x : @& Buffer) : Buffer

/-- A copy, complete before `x` is released. -/
@[extern "torchlean_cuda_buffer_copy_and_release", never_extract, noinline]
opaque copyAndRelease (x : @& Buffer) : Buffer

/-- Two independent copies by one call; two equal pure calls could be shared. -/
@[extern "torchlean_cuda_buffer_duplicate", never_extract]
opaque duplicate (x : @& Buffer) : Prod Buffer Buffer

/-! ## Transfer

Conversions between the kinds round to nearest even; transfer without conversion keeps every bit,
NaN payloads included. The `IO` forms allocate at their place in the sequence. -/

/-- Elements of `a`, rounded to `dtype`. -/
@[extern "torchlean_cuda_buffer_of_float_array", never_extract]
opaque ofFloatArray (a : @& FloatArray) (dtype : Dtype) : Buffer

/-- As `ofFloatArray`. -/
@[extern "torchlean_cuda_buffer_of_float_array_io"]
opaque ofFloatArrayIO (a : @& FloatArray) (dtype : Dtype) : IO Buffer

/-- The elements of a native buffer, widened. -/
@[extern "torchlean_cuda_buffer_to_float_array", never_extract]
opaque toFloatArray (b : @& Buffer) : FloatArray

/-- As `toFloatArray`. -/
@[extern "torchlean_cuda_buffer_to_float_array_io"]
opaque toFloatArrayIO (b : @& Buffer) : IO FloatArray

@[extern "torchlean_cuda_buffer_to_bytes_io"]
private opaque toBytesAs (b : @& Buffer) (dtype : Dtype) : IO ByteArray

/-- The elements as little-endian words of `dtype`, the buffer's own if not given. -/
def toBytesIO (b : Buffer) (dtype : Dtype := b.dtype) : IO ByteArray := toBytesAs b dtype

@[extern "torchlean_cuda_buffer_of_bytes_io"]
private opaque ofBytesAs (bytes : @& ByteArray) (dtype : Dtype) (source : Dtype) : IO Buffer

/-- A buffer of `dtype` from little-endian words of `source`; throws where the length does not
fit. -/
def ofBytesIO (bytes : ByteArray) (dtype : Dtype) (source : Dtype := dtype) : IO Buffer :=
  ofBytesAs bytes dtype source

@[extern "torchlean_cuda_buffer_of_encoded_io"]
private opaque ofEncodedWords (bytes : @& ByteArray) (format : @& FloatFormat) (width : UInt64) :
    IO Buffer

/-- A buffer of words of `format`; throws where the length does not fit or an unused high bit is
set. -/
def ofEncodedIO (bytes : ByteArray) (format : FloatFormat) : IO Buffer :=
  ofEncodedWords bytes format (UInt64.ofNat format.width)

/-- The words of an encoded buffer, unchanged. -/
@[extern "torchlean_cuda_buffer_to_encoded_io"]
opaque toEncodedIO (b : @& Buffer) : IO ByteArray

/-! ## Allocation -/

/-- `n` zeros. -/
@[extern "torchlean_cuda_buffer_zeros", never_extract]
opaque zeros (n : UInt32) (dtype : Dtype) : Buffer

/-- As `zeros`. -/
@[extern "torchlean_cuda_buffer_zeros_io"]
opaque zerosIO (n : UInt32) (dtype : Dtype) : IO Buffer

/-- `count` zeros of the scalar kind of `reference`, encoded formats included. -/
@[extern "torchlean_cuda_buffer_zeros_like", never_extract]
opaque zerosLike (reference : @& Buffer) (count : UInt32) : Buffer

/-- `n` times `v`, rounded to `dtype`. -/
@[extern "torchlean_cuda_buffer_full", never_extract]
opaque full (n : UInt32) (v : Float) (dtype : Dtype) : Buffer

/-- As `full`. -/
@[extern "torchlean_cuda_buffer_full_io"]
opaque fullIO (n : UInt32) (v : Float) (dtype : Dtype) : IO Buffer

/-! ## Random numbers

Element `i` depends on `key + i` alone: key k + 1 is key k shifted by one element. Derive keys with
`mixKey`, not by counting. -/

/-- A key from a seed and a counter; neighbouring counters give unrelated keys. -/
def mixKey (seed counter : UInt64) : UInt64 :=
  let start := UInt64.add seed (UInt64.mul counter 0x9E3779B97F4A7C15)
  let first := UInt64.mul (UInt64.xor start (UInt64.shiftRight start 30)) 0xBF58476D1CE4E5B9
  let second := UInt64.mul (UInt64.xor first (UInt64.shiftRight first 27)) 0x94D049BB133111EB
  UInt64.xor second (UInt64.shiftRight second 31)

/-- `n` numbers, uniform in [0, 1); as float32 rounding can give 1. -/
@[extern "torchlean_cuda_buffer_rand_uniform", never_extract]
opaque randUniform (n : UInt32) (key : UInt64) (dtype : Dtype) : Buffer

/-- As `randUniform`. -/
@[extern "torchlean_cuda_buffer_rand_uniform_io"]
opaque randUniformIO (n : UInt32) (key : UInt64) (dtype : Dtype) : IO Buffer

/-- `n` normal numbers (Box and Muller). -/
@[extern "torchlean_cuda_buffer_rand_normal", never_extract]
opaque randNormal (n : UInt32) (mean : Float) (std : Float) (key : UInt64) (dtype : Dtype) : Buffer

/-- `n` entries, each 1 with probability `keepProb`, else 0. -/
@[extern "torchlean_cuda_buffer_bernoulli_mask", never_extract]
opaque bernoulliMask (n : UInt32) (keepProb : Float) (key : UInt64) (dtype : Dtype) : Buffer

/-- As `bernoulliMask`. -/
@[extern "torchlean_cuda_buffer_bernoulli_mask_io"]
opaque bernoulliMaskIO (n : UInt32) (keepProb : Float) (key : UInt64) (dtype : Dtype) : IO Buffer

/-! ## Arithmetic: native and encoded

Operands of one size and kind. Native results are rounded once; encoded ones are the correctly
rounded value in the format. No backend computes encoded words yet. -/

/-- The four operations on encoded words. -/
inductive EncodedOp where
  | add
  | sub
  | mul
  | div

/-- `a op b` on words of one format. -/
@[extern "torchlean_cuda_buffer_encoded_binary", never_extract]
opaque encodedBinary (a : @& Buffer) (b : @& Buffer) (op : EncodedOp) : Buffer

/-- Flips the sign of each word. -/
@[extern "torchlean_cuda_buffer_encoded_neg", never_extract]
opaque encodedNeg (x : @& Buffer) : Buffer

@[extern "torchlean_cuda_buffer_add", never_extract]
private opaque nativeAdd (a : @& Buffer) (b : @& Buffer) : Buffer
@[extern "torchlean_cuda_buffer_sub", never_extract]
private opaque nativeSub (a : @& Buffer) (b : @& Buffer) : Buffer
@[extern "torchlean_cuda_buffer_mul", never_extract]
private opaque nativeMul (a : @& Buffer) (b : @& Buffer) : Buffer
@[extern "torchlean_cuda_buffer_div", never_extract]
private opaque nativeDiv (a : @& Buffer) (b : @& Buffer) : Buffer
@[extern "torchlean_cuda_buffer_neg", never_extract]
private opaque nativeNeg (x : @& Buffer) : Buffer

/-- Of buffers of size 0, which may be released or poisoned and then have no kind, none is
encoded. -/
private def isEncoded (x : Buffer) : Bool :=
  match Nat.beq x.size.toNat 0 with
  | true => false
  | false =>
    match x.dtype with
    | .encoded => true
    | _ => false

private def byKind (op : EncodedOp) (native : Buffer → Buffer → Buffer) (a b : Buffer) : Buffer :=
  match isEncoded a with
  | true => encodedBinary a b op
  | false => native a b

/-- a + b -/
def add (a b : Buffer) : Buffer := byKind EncodedOp.add nativeAdd a b
/-- a - b -/
def sub (a b : Buffer) : Buffer := byKind EncodedOp.sub nativeSub a b
/-- a * b -/
def mul (a b : Buffer) : Buffer := byKind EncodedOp.mul nativeMul a b
/-- a / b -/
def div (a b : Buffer) : Buffer := byKind EncodedOp.div nativeDiv a b
/-- The sign bit flipped, of zeros and NaN too. -/
def neg (x : Buffer) : Buffer :=
  match isEncoded x with
  | true => encodedNeg x
  | false => nativeNeg x

/-! ## One step of Adam -/

/-- Is `eps` finite and positive after rounding to `dtype`? `adamStep` does not check it. -/
def adamEpsilonValid (dtype : Dtype) (eps : Float) : Bool :=
  let rounded := match dtype with
    | .float32 => eps.toFloat32.toFloat
    | _ => eps
  let bits := rounded.toBits.toNat
  and (Nat.blt 0 bits) (Nat.blt bits 0x7FF0000000000000)

@[extern "torchlean_cuda_buffer_adam_step", never_extract]
private opaque adamStepScalars (parameters : @& Buffer) (gradient : @& Buffer)
    (firstMoment : @& Buffer) (secondMoment : @& Buffer) (beta1 : Float) (oneMinusBeta1 : Float)
    (beta2 : Float) (oneMinusBeta2 : Float) (firstMomentCorrection : Float)
    (secondMomentCorrection : Float) (epsilon : Float) (decay : Float) (updateScale : Float) :
    Prod Buffer (Prod Buffer Buffer)

/-- The scalars of a step t = 1, 2, …, each rounded to the buffers' kind. -/
structure AdamScalars where
  beta1 : Float
  oneMinusBeta1 : Float
  beta2 : Float
  oneMinusBeta2 : Float
  /-- 1 / (1 - beta1^t) -/
  firstMomentCorrection : Float
  /-- 1 / (1 - beta2^t) -/
  secondMomentCorrection : Float
  epsilon : Float
  /-- 0 for Adam, -(learning rate * weight decay) for AdamW -/
  decay : Float
  /-- -(learning rate) -/
  updateScale : Float

/-- (parameters, firstMoment, secondMoment) after one step on four buffers p, g, m, v of one size:
m' = β1·m + (1 − β1)·g, v' = β2·v + (1 − β2)·g², u = (m'·c1) / (√(v'·c2) + ε),
p' = p + decay·p + updateScale·u. With decay = 0 that is Adam, with decay = −(lr·weightDecay)
AdamW. Every step is rounded. -/
def adamStep (parameters gradient firstMoment secondMoment : Buffer) (s : AdamScalars) :
    Prod Buffer (Prod Buffer Buffer) :=
  adamStepScalars parameters gradient firstMoment secondMoment s.beta1 s.oneMinusBeta1 s.beta2
    s.oneMinusBeta2 s.firstMomentCorrection s.secondMomentCorrection s.epsilon s.decay s.updateScale

end Buffer
end TorchLean.Runtime
