import TorchLean.Runtime.Buffer

/-!
# Kernels of the TorchLean runtime

One definition for each symbol. Operands of one call have one native kind, and so has the result.
Dimensions and indices are `Nat`s, checked into `UInt32` and never wrapped: what does not fit
fails as any wrong argument does. `docs/operations.md` states each formula and error bound; where
a comment says "exact", every backend gives the same bits.
-/

namespace TorchLean.Runtime

/-- Results that can stand for a failure. -/
class CanFail (α : Type) where
  failWith : String → α

instance : CanFail Buffer := ⟨Buffer.fail⟩

instance {α β : Type} [CanFail α] [CanFail β] : CanFail (Prod α β) :=
  ⟨fun message => (CanFail.failWith message, CanFail.failWith message)⟩

instance {α : Type} : CanFail (IO α) := ⟨fun message => throw (IO.userError message)⟩

/-- Continues with `n` as a `UInt32`; fails, naming operation and argument, where it is too
large. -/
private def checked {α : Type} [CanFail α] (operation argument : String) (n : Nat)
    (go : UInt32 → α) : α :=
  match Nat.ble n 4294967295 with
  | true => go (UInt32.ofNat n)
  | false => CanFail.failWith (String.append operation (String.append ": " (String.append argument
      (String.append " is " (String.append (toString n) ", expected at most 4294967295")))))

private def flag (b : Bool) : UInt32 :=
  match b with
  | true => 1
  | false => 0

namespace Buffer

/-! ## Elementwise, one operand -/

/-- The sign bit cleared. Exact. -/
@[extern "torchlean_cuda_buffer_abs", never_extract]
opaque abs (x : @& Buffer) : Buffer

/-- The largest integer not above. Exact. -/
@[extern "torchlean_cuda_buffer_floor", never_extract]
opaque floor (x : @& Buffer) : Buffer

/-- Square root; +0 where `x` ≤ 0. Exact. -/
@[extern "torchlean_cuda_buffer_sqrt", never_extract]
opaque sqrt (x : @& Buffer) : Buffer

/-- 1 / x. Exact. -/
@[extern "torchlean_cuda_buffer_inv", never_extract]
opaque inv (x : @& Buffer) : Buffer

/-- `x` where it is positive, else +0, for NaN too. Exact. -/
@[extern "torchlean_cuda_buffer_relu", never_extract]
opaque relu (x : @& Buffer) : Buffer

/-- e^x, within 2 ulp. -/
@[extern "torchlean_cuda_buffer_exp", never_extract]
opaque exp (x : @& Buffer) : Buffer

/-- Natural logarithm, within 2 ulp. -/
@[extern "torchlean_cuda_buffer_log", never_extract]
opaque log (x : @& Buffer) : Buffer

/-- log (1 + x), accurate for small `x`, within 2 ulp. -/
@[extern "torchlean_cuda_buffer_log1p", never_extract]
opaque log1p (x : @& Buffer) : Buffer

/-- Sine, within 2 ulp for any finite argument. -/
@[extern "torchlean_cuda_buffer_sin", never_extract]
opaque sin (x : @& Buffer) : Buffer

/-- Cosine, within 2 ulp for any finite argument. -/
@[extern "torchlean_cuda_buffer_cos", never_extract]
opaque cos (x : @& Buffer) : Buffer

/-- Hyperbolic tangent, within 2 ulp. -/
@[extern "torchlean_cuda_buffer_tanh", never_extract]
opaque tanh (x : @& Buffer) : Buffer

/-- 1 / (1 + e^(-x)), within 8 ulp. -/
@[extern "torchlean_cuda_buffer_sigmoid", never_extract]
opaque sigmoid (x : @& Buffer) : Buffer

/-- x·(1 + tanh (0.79788456·(x + 0.044715·x³)))/2. -/
@[extern "torchlean_cuda_buffer_gelu", never_extract]
opaque gelu (x : @& Buffer) : Buffer

/-- x·c. Exact. -/
@[extern "torchlean_cuda_buffer_scale", never_extract]
opaque scale (x : @& Buffer) (c : Float) : Buffer

/-- `x` limited to [lo, hi]; NaN gives `lo`. Exact. -/
@[extern "torchlean_cuda_buffer_clamp", never_extract]
opaque clamp (x : @& Buffer) (lo : Float) (hi : Float) : Buffer

/-! ## Elementwise, two operands of one size -/

/-- The larger; the other where one is NaN. Exact. -/
@[extern "torchlean_cuda_buffer_max", never_extract]
opaque max (a : @& Buffer) (b : @& Buffer) : Buffer

/-- The smaller; the other where one is NaN. Exact. -/
@[extern "torchlean_cuda_buffer_min", never_extract]
opaque min (a : @& Buffer) (b : @& Buffer) : Buffer

/-- `values` where `allowed` is not 0, else +0. Exact. -/
@[extern "torchlean_cuda_buffer_mask", never_extract]
opaque mask (values : @& Buffer) (allowed : @& Buffer) : Buffer

/-- a + c·b, rounded once. Exact. -/
@[extern "torchlean_cuda_buffer_axpy", never_extract]
opaque axpy (a : @& Buffer) (b : @& Buffer) (c : Float) : Buffer

/-- e^((x·c)·y), within 2 ulp of that of the rounded product. -/
@[extern "torchlean_cuda_buffer_scaled_prod_exp", never_extract]
opaque scaledProdExp (x : @& Buffer) (y : @& Buffer) (c : Float) : Buffer

/-! ## Elementwise gradients: the operand, then the gradient of the result -/

/-- sign(x)·g, the sign of ±0 and NaN being 0. Exact. -/
@[extern "torchlean_cuda_buffer_abs_bwd", never_extract]
opaque absBwd (x : @& Buffer) (dLdy : @& Buffer) : Buffer

/-- g / (2·√x) where `x` is positive, else +0. Exact. -/
@[extern "torchlean_cuda_buffer_sqrt_bwd", never_extract]
opaque sqrtBwd (x : @& Buffer) (dLdy : @& Buffer) : Buffer

/-- `dLdy` where `x` is positive, else +0. Exact. -/
@[extern "torchlean_cuda_buffer_relu_bwd", never_extract]
opaque reluBwd (x : @& Buffer) (dLdy : @& Buffer) : Buffer

/-- The gradient of `gelu`. -/
@[extern "torchlean_cuda_buffer_gelu_bwd", never_extract]
opaque geluBwd (x : @& Buffer) (dLdy : @& Buffer) : Buffer

/-- `dLdy` strictly inside (lo, hi), else +0. Exact. -/
@[extern "torchlean_cuda_buffer_clamp_bwd", never_extract]
opaque clampBwd (x : @& Buffer) (dLdy : @& Buffer) (lo : Float) (hi : Float) : Buffer

/-- (dA, dB) of `max`: the winner gets the gradient, ties half each. Exact. -/
@[extern "torchlean_cuda_buffer_max_bwd", never_extract]
opaque maxBwd (a : @& Buffer) (b : @& Buffer) (dLdy : @& Buffer) : Prod Buffer Buffer

/-- (dA, dB) of `min`. Exact. -/
@[extern "torchlean_cuda_buffer_min_bwd", never_extract]
opaque minBwd (a : @& Buffer) (b : @& Buffer) (dLdy : @& Buffer) : Prod Buffer Buffer

/-! ## Reductions -/

/-- The sum of all elements, one element; +0 when empty. Setting 2 fixes the order of additions. -/
@[extern "torchlean_cuda_buffer_reduce_sum", never_extract]
opaque reduceSum (x : @& Buffer) : Buffer

/-- The mean of all elements, one element; NaN when empty. -/
@[extern "torchlean_cuda_buffer_reduce_mean", never_extract]
opaque reduceMean (x : @& Buffer) : Buffer

@[extern "torchlean_cuda_buffer_reduce_sum_by_row", never_extract]
private opaque reduceSumByRowRaw (x : @& Buffer) (rows : UInt32) (cols : UInt32) : Buffer

/-- Sums of the rows of (rows, cols). -/
def reduceSumByRow (x : Buffer) (rows cols : Nat) : Buffer :=
  checked "reduceSumByRow" "rows" rows fun rows =>
  checked "reduceSumByRow" "cols" cols fun cols =>
  reduceSumByRowRaw x rows cols

@[extern "torchlean_cuda_buffer_reduce_max_by_row", never_extract]
private opaque reduceMaxByRowRaw (x : @& Buffer) (rows : UInt32) (cols : UInt32) : Buffer

/-- Largest entries of the rows of (rows, cols); NaN is skipped. Exact. -/
def reduceMaxByRow (x : Buffer) (rows cols : Nat) : Buffer :=
  checked "reduceMaxByRow" "rows" rows fun rows =>
  checked "reduceMaxByRow" "cols" cols fun cols =>
  reduceMaxByRowRaw x rows cols

@[extern "torchlean_cuda_buffer_reduce_max_by_column", never_extract]
private opaque reduceMaxByColumnRaw (x : @& Buffer) (rows : UInt32) (cols : UInt32) : Buffer

/-- Largest entries of the columns of (rows, cols); NaN is skipped. Exact. -/
def reduceMaxByColumn (x : Buffer) (rows cols : Nat) : Buffer :=
  checked "reduceMaxByColumn" "rows" rows fun rows =>
  checked "reduceMaxByColumn" "cols" cols fun cols =>
  reduceMaxByColumnRaw x rows cols

@[extern "torchlean_cuda_buffer_first_max_mask_by_row", never_extract]
private opaque firstMaxMaskByRowRaw (x : @& Buffer) (rows : UInt32) (cols : UInt32) : Buffer

/-- 1 at the first largest entry of each row, else 0. Exact. -/
def firstMaxMaskByRow (x : Buffer) (rows cols : Nat) : Buffer :=
  checked "firstMaxMaskByRow" "rows" rows fun rows =>
  checked "firstMaxMaskByRow" "cols" cols fun cols =>
  firstMaxMaskByRowRaw x rows cols

@[extern "torchlean_cuda_buffer_top_k_mask_by_row", never_extract]
private opaque topKMaskByRowRaw (x : @& Buffer) (rows : UInt32) (cols : UInt32) (k : UInt32) :
    Buffer

/-- 1 for the `k` largest entries of each row, the first of equal ones, else 0. Exact. -/
def topKMaskByRow (x : Buffer) (rows cols k : Nat) : Buffer :=
  checked "topKMaskByRow" "rows" rows fun rows =>
  checked "topKMaskByRow" "cols" cols fun cols =>
  checked "topKMaskByRow" "k" k fun k =>
  topKMaskByRowRaw x rows cols k

@[extern "torchlean_cuda_buffer_reduce_sum_axis", never_extract]
private opaque reduceSumAxisRaw (x : @& Buffer) (dims : @& Array Nat) (axis : UInt32) : Buffer

/-- Sums over one axis of a tensor of shape `dims`. -/
def reduceSumAxis (x : Buffer) (dims : Array Nat) (axis : Nat) : Buffer :=
  checked "reduceSumAxis" "axis" axis fun axis =>
  reduceSumAxisRaw x dims axis

/-- The adjoint of `broadcastTo` with the same lists: `dOut` has the shape `outDims`, the result
`inDims`. -/
@[extern "torchlean_cuda_buffer_reduce_from_broadcast", never_extract]
opaque reduceFromBroadcast (dOut : @& Buffer) (inDims : @& Array Nat) (outDims : @& Array Nat)
    (axisMap : @& Array Nat) : Buffer

/-! ## Views: elements moved, exact -/

@[extern "torchlean_cuda_buffer_concat1d", never_extract]
private opaque concat1dRaw (a : @& Buffer) (b : @& Buffer) (n : UInt32) (m : UInt32) : Buffer

/-- `a` (of `n` elements) then `b` (of `m`); encoded buffers of one format too. -/
def concat1d (a b : Buffer) (n m : Nat) : Buffer :=
  checked "concat1d" "n" n fun n =>
  checked "concat1d" "m" m fun m =>
  concat1dRaw a b n m

@[extern "torchlean_cuda_buffer_slice1d", never_extract]
private opaque slice1dRaw (x : @& Buffer) (n : UInt32) (start : UInt32) (len : UInt32) : Buffer

/-- `len` elements of `x` (of `n`) from `start` on; encoded buffers too. -/
def slice1d (x : Buffer) (n start len : Nat) : Buffer :=
  checked "slice1d" "n" n fun n =>
  checked "slice1d" "start" start fun start =>
  checked "slice1d" "len" len fun len =>
  slice1dRaw x n start len

@[extern "torchlean_cuda_buffer_broadcast_vec_to_cols", never_extract]
private opaque broadcastVecToColsRaw (vec : @& Buffer) (rows : UInt32) (cols : UInt32) : Buffer

/-- (rows, cols) whose entry (i, j) is the i-th of `vec`. -/
def broadcastVecToCols (vec : Buffer) (rows cols : Nat) : Buffer :=
  checked "broadcastVecToCols" "rows" rows fun rows =>
  checked "broadcastVecToCols" "cols" cols fun cols =>
  broadcastVecToColsRaw vec rows cols

/-- `x` of shape `inDims` repeated to `outDims`. `axisMap` has one entry for each output axis: 0
is a new axis, a + 1 reads input axis a, whose size is 1 or the output's; each input axis occurs
once. -/
@[extern "torchlean_cuda_buffer_broadcast_to", never_extract]
opaque broadcastTo (x : @& Buffer) (inDims : @& Array Nat) (outDims : @& Array Nat)
    (axisMap : @& Array Nat) : Buffer

@[extern "torchlean_cuda_buffer_swap_adjacent_at_depth", never_extract]
private opaque swapAdjacentAtDepthRaw (x : @& Buffer) (dims : @& Array Nat) (depth : UInt32) :
    Buffer

/-- Axes `depth` and `depth + 1` of a tensor of shape `dims` exchanged. -/
def swapAdjacentAtDepth (x : Buffer) (dims : Array Nat) (depth : Nat) : Buffer :=
  checked "swapAdjacentAtDepth" "depth" depth fun depth =>
  swapAdjacentAtDepthRaw x dims depth

/-! ## Indexing -/

@[extern "torchlean_cuda_buffer_gather_rows", never_extract]
private opaque gatherRowsRaw (mat : @& Buffer) (rows : UInt32) (cols : UInt32)
    (indices : @& Array Nat) (k : UInt32) : Buffer

/-- Rows of (rows, cols) by number, as many as there are `indices`; a number ≥ `rows` gives
zeros. Exact. -/
def gatherRows (mat : Buffer) (rows cols : Nat) (indices : Array Nat) : Buffer :=
  checked "gatherRows" "rows" rows fun rows =>
  checked "gatherRows" "cols" cols fun cols =>
  gatherRowsRaw mat rows cols indices (UInt32.ofNat indices.size)

@[extern "torchlean_cuda_buffer_scatter_add", never_extract]
private opaque scatterAddRaw (x : @& Buffer) (values : @& Buffer) (n : UInt32)
    (indices : @& Array Nat) (k : UInt32) : Buffer

/-- `x` (of `n` elements) with `values[i]` added at `indices[i]`; a number ≥ `n` is ignored. -/
def scatterAdd (x values : Buffer) (n : Nat) (indices : Array Nat) : Buffer :=
  checked "scatterAdd" "n" n fun n =>
  scatterAddRaw x values n indices (UInt32.ofNat indices.size)

@[extern "torchlean_cuda_buffer_scatter_add_rows", never_extract]
private opaque scatterAddRowsRaw (mat : @& Buffer) (values : @& Buffer) (rows : UInt32)
    (cols : UInt32) (indices : @& Array Nat) (k : UInt32) : Buffer

/-- The same for the rows of (rows, cols). -/
def scatterAddRows (mat values : Buffer) (rows cols : Nat) (indices : Array Nat) : Buffer :=
  checked "scatterAddRows" "rows" rows fun rows =>
  checked "scatterAddRows" "cols" cols fun cols =>
  scatterAddRowsRaw mat values rows cols indices (UInt32.ofNat indices.size)

/-! ## Matrix products -/

@[extern "torchlean_cuda_buffer_bmm_with_transpose", never_extract]
private opaque bmmRaw (a : @& Buffer) (b : @& Buffer) (batch : UInt32) (m : UInt32) (n : UInt32)
    (p : UInt32) (transposeA : UInt32) (transposeB : UInt32) : Buffer

/-- (batch, m, n) × (batch, n, p). `transposeA`: `a` is stored (batch, n, m); `transposeB`: `b`
is stored (batch, p, n). Within 2·n·eps·Σ|a||b|. -/
def bmmWithTranspose (a b : Buffer) (batch m n p : Nat) (transposeA transposeB : Bool) : Buffer :=
  checked "bmm" "batch" batch fun batch =>
  checked "bmm" "m" m fun m =>
  checked "bmm" "n" n fun n =>
  checked "bmm" "p" p fun p =>
  bmmRaw a b batch m n p (flag transposeA) (flag transposeB)

/-- A·B. -/
def bmm (a b : Buffer) (batch m n p : Nat) : Buffer := bmmWithTranspose a b batch m n p false false

/-- A·Bᵀ, `b` stored (batch, p, n). -/
def bmmTransposeB (a b : Buffer) (batch m n p : Nat) : Buffer :=
  bmmWithTranspose a b batch m n p false true

/-- Aᵀ·B, `a` stored (batch, n, m). -/
def bmmTransposeA (a b : Buffer) (batch m n p : Nat) : Buffer :=
  bmmWithTranspose a b batch m n p true false

@[extern "torchlean_cuda_buffer_bmm_scaled_io"]
private opaque bmmScaledRaw (a : @& Buffer) (b : @& Buffer) (batch : UInt32) (m : UInt32)
    (n : UInt32) (p : UInt32) (transposeA : UInt32) (transposeB : UInt32) (scale : Float) :
    IO (Prod Buffer Bool)

/-- scale·A·B, and whether the caller must replay it from the original operands because a scaled
operand, an intermediate or the result left the normal range: the values are unspecified then. -/
def bmmScaled (a b : Buffer) (batch m n p : Nat) (transposeA transposeB : Bool) (scale : Float) :
    IO (Prod Buffer Bool) :=
  checked "bmm_scaled" "batch" batch fun batch =>
  checked "bmm_scaled" "m" m fun m =>
  checked "bmm_scaled" "n" n fun n =>
  checked "bmm_scaled" "p" p fun p =>
  bmmScaledRaw a b batch m n p (flag transposeA) (flag transposeB) scale

@[extern "torchlean_dgemm_cuda", never_extract]
private opaque dgemmRaw (a : @& FloatArray) (b : @& FloatArray) (m : UInt32) (n : UInt32)
    (p : UInt32) : FloatArray

/-- (m, n) × (n, p) of host arrays, computed on the backend's device. A dimension beyond 32 bits
becomes the largest one, which no array's size matches: the call then fails. -/
def dgemm (a b : FloatArray) (m n p : Nat) : FloatArray :=
  dgemmRaw a b (saturated m) (saturated n) (saturated p)
where
  saturated (n : Nat) : UInt32 :=
    match Nat.ble n 4294967295 with
    | true => UInt32.ofNat n
    | false => 4294967295

/-! ## Normalization -/

@[extern "torchlean_cuda_buffer_softmax_io"]
private opaque softmaxRaw (x : @& Buffer) (dims : @& Array Nat) (axis : UInt32) : IO Buffer

/-- Softmax over one axis of a tensor of shape `dims`; the maximum is subtracted first. -/
def softmaxIO (x : Buffer) (dims : Array Nat) (axis : Nat) : IO Buffer :=
  checked "softmaxIO" "axis" axis fun axis =>
  softmaxRaw x dims axis

@[extern "torchlean_cuda_buffer_hard_masked_softmax_by_row", never_extract]
private opaque hardMaskedSoftmaxByRowRaw (scores : @& Buffer) (mask : @& Buffer) (rows : UInt32)
    (cols : UInt32) : Buffer

/-- Softmax over the allowed entries (mask not 0) of each row of (rows, cols); blocked ones are
exactly +0. -/
def hardMaskedSoftmaxByRow (scores mask : Buffer) (rows cols : Nat) : Buffer :=
  checked "hardMaskedSoftmaxByRow" "rows" rows fun rows =>
  checked "hardMaskedSoftmaxByRow" "cols" cols fun cols =>
  hardMaskedSoftmaxByRowRaw scores mask rows cols

@[extern "torchlean_cuda_buffer_layer_norm_fwd", never_extract]
private opaque layerNormFwdRaw (x : @& Buffer) (gamma : @& Buffer) (beta : @& Buffer)
    (rows : UInt32) (cols : UInt32) (invCols : Float) (epsilon : Float) :
    Prod Buffer (Prod Buffer Buffer)

/-- (result, normalized, 1 / standard deviation) of the rows of (rows, cols), neither 0: the mean
is subtracted, the variance (+ epsilon) divided out in binary64, then `gamma` and `beta` (cols)
applied. -/
def layerNormFwd (x gamma beta : Buffer) (rows cols : Nat) (epsilon : Float) :
    Prod Buffer (Prod Buffer Buffer) :=
  checked "layer_norm_fwd" "rows" rows fun rows =>
  checked "layer_norm_fwd" "cols" cols fun cols =>
  layerNormFwdRaw x gamma beta rows cols (Float.div 1.0 cols.toFloat) epsilon

@[extern "torchlean_cuda_buffer_layer_norm_bwd", never_extract]
private opaque layerNormBwdRaw (dOut : @& Buffer) (normalized : @& Buffer) (invStd : @& Buffer)
    (gamma : @& Buffer) (rows : UInt32) (cols : UInt32) (colsScale : Float) (invCols : Float) :
    Prod Buffer (Prod Buffer Buffer)

/-- (dX, dGamma, dBeta) of `layerNormFwd`, from what it returned. -/
def layerNormBwd (dOut normalized invStd gamma : Buffer) (rows cols : Nat) :
    Prod Buffer (Prod Buffer Buffer) :=
  checked "layer_norm_bwd" "rows" rows fun rows =>
  checked "layer_norm_bwd" "cols" cols fun cols =>
  layerNormBwdRaw dOut normalized invStd gamma rows cols cols.toFloat (Float.div 1.0 cols.toFloat)

/-! ## Losses: operands (rows, cols), one element as result -/

@[extern "torchlean_cuda_buffer_cross_entropy_io"]
private opaque crossEntropyIORaw (logits : @& Buffer) (weights : @& Buffer) (rows : UInt32)
    (cols : UInt32) : IO Buffer

/-- (1/rows)·Σ weights·(log Σ e^logits − logits) over the rows; a term of weight 0 is skipped. -/
def crossEntropyIO (logits weights : Buffer) (rows cols : Nat) : IO Buffer :=
  checked "crossEntropyIO" "rows" rows fun rows =>
  checked "crossEntropyIO" "cols" cols fun cols =>
  crossEntropyIORaw logits weights rows cols

@[extern "torchlean_cuda_buffer_distillation_io"]
private opaque distillationRaw (student : @& Buffer) (teacher : @& Buffer) (rows : UInt32)
    (cols : UInt32) (gradient : Bool) : IO Buffer

/-- Cross entropy of `student`'s softmax against `teacher`'s, averaged over the rows; with
`gradient` its gradient with respect to `student`, (rows, cols), instead. -/
def distillationIO (student teacher : Buffer) (rows cols : Nat) (gradient : Bool) : IO Buffer :=
  checked "distillation" "rows" rows fun rows =>
  checked "distillation" "cols" cols fun cols =>
  distillationRaw student teacher rows cols gradient

/-! ## Fourier transforms of rows

`n` > 0 real numbers pair with n / 2 + 1 complex ones, real and imaginary parts interleaved. Any
`n`. -/

@[extern "torchlean_cuda_buffer_rfft1d_packed", never_extract]
private opaque rfft1dRaw (x : @& Buffer) (batch : UInt32) (n : UInt32) : Buffer

/-- Forward, not normalised: (batch, n) to (batch, n/2 + 1, 2). -/
def rfft1d (x : Buffer) (batch n : Nat) : Buffer :=
  checked "rfft1d" "batch" batch fun batch =>
  checked "rfft1d" "n" n fun n =>
  rfft1dRaw x batch n

@[extern "torchlean_cuda_buffer_irfft1d_packed", never_extract]
private opaque irfft1dRaw (spec : @& Buffer) (batch : UInt32) (n : UInt32) : Buffer

/-- Inverse, with the factor 1/n. The imaginary parts that a real signal cannot have are ignored. -/
def irfft1d (spec : Buffer) (batch n : Nat) : Buffer :=
  checked "irfft1d" "batch" batch fun batch =>
  checked "irfft1d" "n" n fun n =>
  irfft1dRaw spec batch n

@[extern "torchlean_cuda_buffer_irfft1d_packed_unnormalized", never_extract]
private opaque irfft1dUnnormalizedRaw (spec : @& Buffer) (batch : UInt32) (n : UInt32) : Buffer

/-- Inverse without the factor 1/n. -/
def irfft1dUnnormalized (spec : Buffer) (batch n : Nat) : Buffer :=
  checked "irfft1dUnnormalized" "batch" batch fun batch =>
  checked "irfft1dUnnormalized" "n" n fun n =>
  irfft1dUnnormalizedRaw spec batch n

/-- The adjoint of `rfft1d`, from the gradient of the spectrum (batch, n/2 + 1, 2): the
unnormalised inverse counts every bin twice but the first and, for even `n`, the last; so the
others are halved before. -/
def rfft1dAdjoint (gradient : Buffer) (batch n : Nat) : Buffer :=
  let inner := Nat.div (Nat.sub n 1) 2
  checked "rfft1d_adjoint" "2 * inner bins" (Nat.mul 2 inner) fun width =>
  let ones := clamp (zerosLike gradient 2) 1.0 1.0
  let halves := clamp (zerosLike gradient width) 0.5 0.5
  let start := concat1d ones halves 2 (Nat.mul 2 inner)
  let length := Nat.add 2 (Nat.mul 2 inner)
  match Nat.beq (Nat.mod n 2) 0 with
  | true => inverse (concat1d start ones length 2) (Nat.add length 2)
  | false => inverse start length
where
  /-- The inverse of the spectrum times one row of factors. -/
  inverse (factors : Buffer) (length : Nat) : Buffer :=
    let row := Array.singleton length
    let rows := (Array.singleton batch).push length
    let axes := (Array.singleton 0).push 1
    irfft1dUnnormalized (mul gradient (broadcastTo factors row rows axes)) batch n

/-! ## Scans: h[t] = a·h[t−1] + b·x[t]

Sequences are (seqLen, state), `h0` is (state); `a` and `b` are (state), in the `Var` forms
(seqLen, state). -/

@[extern "torchlean_cuda_buffer_selective_scan_diag_fwd", never_extract]
private opaque selectiveScanDiagFwdRaw (a : @& Buffer) (b : @& Buffer) (x : @& Buffer)
    (h0 : @& Buffer) (seqLen : UInt32) (state : UInt32) : Buffer

/-- All states h[t]. -/
def selectiveScanDiagFwd (a b x h0 : Buffer) (seqLen state : Nat) : Buffer :=
  checked "selective_scan_diag_fwd" "seqLen" seqLen fun seqLen =>
  checked "selective_scan_diag_fwd" "state" state fun state =>
  selectiveScanDiagFwdRaw a b x h0 seqLen state

@[extern "torchlean_cuda_buffer_selective_scan_diag_bwd", never_extract]
private opaque selectiveScanDiagBwdRaw (a : @& Buffer) (b : @& Buffer) (x : @& Buffer)
    (h0 : @& Buffer) (out : @& Buffer) (dY : @& Buffer) (seqLen : UInt32) (state : UInt32) :
    Prod Buffer (Prod Buffer (Prod Buffer Buffer))

/-- (dA, dB, dX, dH0) from the forward result `out` and its gradient `dY`. -/
def selectiveScanDiagBwd (a b x h0 out dY : Buffer) (seqLen state : Nat) :
    Prod Buffer (Prod Buffer (Prod Buffer Buffer)) :=
  checked "selective_scan_diag_bwd" "seqLen" seqLen fun seqLen =>
  checked "selective_scan_diag_bwd" "state" state fun state =>
  selectiveScanDiagBwdRaw a b x h0 out dY seqLen state

@[extern "torchlean_cuda_buffer_selective_scan_diag_var_fwd", never_extract]
private opaque selectiveScanDiagVarFwdRaw (a : @& Buffer) (b : @& Buffer) (x : @& Buffer)
    (h0 : @& Buffer) (seqLen : UInt32) (state : UInt32) : Buffer

/-- All states h[t] with coefficients for each step. -/
def selectiveScanDiagVarFwd (a b x h0 : Buffer) (seqLen state : Nat) : Buffer :=
  checked "selective_scan_diag_var_fwd" "seqLen" seqLen fun seqLen =>
  checked "selective_scan_diag_var_fwd" "state" state fun state =>
  selectiveScanDiagVarFwdRaw a b x h0 seqLen state

@[extern "torchlean_cuda_buffer_selective_scan_diag_var_bwd", never_extract]
private opaque selectiveScanDiagVarBwdRaw (a : @& Buffer) (b : @& Buffer) (x : @& Buffer)
    (h0 : @& Buffer) (out : @& Buffer) (dY : @& Buffer) (seqLen : UInt32) (state : UInt32) :
    Prod Buffer (Prod Buffer (Prod Buffer Buffer))

/-- (dA, dB, dX, dH0) from the forward result `out` and its gradient `dY`. -/
def selectiveScanDiagVarBwd (a b x h0 out dY : Buffer) (seqLen state : Nat) :
    Prod Buffer (Prod Buffer (Prod Buffer Buffer)) :=
  checked "selective_scan_diag_var_bwd" "seqLen" seqLen fun seqLen =>
  checked "selective_scan_diag_var_bwd" "state" state fun state =>
  selectiveScanDiagVarBwdRaw a b x h0 out dY seqLen state

/-! ## Convolution: cross-correlation over 1 to 3 spatial axes, channels first -/

@[extern "torchlean_cuda_buffer_conv_io"]
private opaque convRaw (input : @& Buffer) (kernel : @& Buffer) (bias : @& Buffer)
    (inputDims : @& Array Nat) (kernelDims : @& Array Nat) (strides : @& Array Nat)
    (paddingBefore : @& Array Nat) (paddingAfter : @& Array Nat) (dilations : @& Array Nat)
    (groups : UInt32) : IO Buffer

/-- A batch. `inputDims` is (leading…, inC, spatial…), `kernelDims` (outC, inC, spatial…), `bias`
(outC); the other lists have one entry for each spatial axis. `groups` divides both channel
counts; of the dense kernel only the group-diagonal blocks are used then. -/
def convIO (input kernel bias : Buffer) (inputDims kernelDims strides paddingBefore paddingAfter
    dilations : Array Nat) (groups : Nat) : IO Buffer :=
  checked "conv" "groups" groups fun groups =>
  convRaw input kernel bias inputDims kernelDims strides paddingBefore paddingAfter dilations groups

@[extern "torchlean_cuda_conv_fwd", never_extract]
private opaque convFwdRaw (input : @& Buffer) (kernel : @& Buffer) (bias : @& Buffer)
    (inSpatial : @& Array Nat) (kernelSpatial : @& Array Nat) (stride : @& Array Nat)
    (padding : @& Array Nat) (inC : UInt32) (outC : UInt32) : Buffer

/-- One sample (inC, spatial…) with the kernel (outC, inC, spatial…), padded by `padding` on both
sides. -/
def convFwd (input kernel bias : Buffer) (inSpatial kernelSpatial stride padding : Array Nat)
    (inC outC : Nat) : Buffer :=
  checked "conv_fwd" "inC" inC fun inC =>
  checked "conv_fwd" "outC" outC fun outC =>
  convFwdRaw input kernel bias inSpatial kernelSpatial stride padding inC outC

@[extern "torchlean_cuda_conv_bwd", never_extract]
private opaque convBwdRaw (input : @& Buffer) (kernel : @& Buffer) (grad : @& Buffer)
    (inSpatial : @& Array Nat) (kernelSpatial : @& Array Nat) (stride : @& Array Nat)
    (padding : @& Array Nat) (inC : UInt32) (outC : UInt32) : Prod Buffer (Prod Buffer Buffer)

/-- (dKernel, dBias, dInput) of `convFwd`, from the gradient of its result. -/
def convBwd (input kernel grad : Buffer) (inSpatial kernelSpatial stride padding : Array Nat)
    (inC outC : Nat) : Prod Buffer (Prod Buffer Buffer) :=
  checked "conv_bwd" "inC" inC fun inC =>
  checked "conv_bwd" "outC" outC fun outC =>
  convBwdRaw input kernel grad inSpatial kernelSpatial stride padding inC outC

@[extern "torchlean_cuda_convtranspose_fwd", never_extract]
private opaque convTransposeFwdRaw (input : @& Buffer) (kernel : @& Buffer) (bias : @& Buffer)
    (inSpatial : @& Array Nat) (kernelSpatial : @& Array Nat) (stride : @& Array Nat)
    (padding : @& Array Nat) (inC : UInt32) (outC : UInt32) : Buffer

/-- The transposed operation, with the kernel (inC, outC, spatial…). -/
def convTransposeFwd (input kernel bias : Buffer)
    (inSpatial kernelSpatial stride padding : Array Nat)
    (inC outC : Nat) : Buffer :=
  checked "convtranspose_fwd" "inC" inC fun inC =>
  checked "convtranspose_fwd" "outC" outC fun outC =>
  convTransposeFwdRaw input kernel bias inSpatial kernelSpatial stride padding inC outC

@[extern "torchlean_cuda_convtranspose_bwd", never_extract]
private opaque convTransposeBwdRaw (input : @& Buffer) (kernel : @& Buffer) (grad : @& Buffer)
    (inSpatial : @& Array Nat) (kernelSpatial : @& Array Nat) (stride : @& Array Nat)
    (padding : @& Array Nat) (inC : UInt32) (outC : UInt32) : Prod Buffer (Prod Buffer Buffer)

/-- (dKernel, dBias, dInput) of `convTransposeFwd`. -/
def convTransposeBwd (input kernel grad : Buffer)
    (inSpatial kernelSpatial stride padding : Array Nat)
    (inC outC : Nat) : Prod Buffer (Prod Buffer Buffer) :=
  checked "convtranspose_bwd" "inC" inC fun inC =>
  checked "convtranspose_bwd" "outC" outC fun outC =>
  convTransposeBwdRaw input kernel grad inSpatial kernelSpatial stride padding inC outC

/-! ## Pools of one sample (channels, spatial…); padding is at most half of the window -/

@[extern "torchlean_cuda_maxpool_fwd", never_extract]
private opaque maxpoolFwdRaw (input : @& Buffer) (inSpatial : @& Array Nat)
    (kernel : @& Array Nat) (stride : @& Array Nat) (padding : @& Array Nat) (channels : UInt32) :
    Buffer

/-- The largest entry of each window, padding ignored; NaN where it holds one. Exact. -/
def maxpoolFwd (input : Buffer) (inSpatial kernel stride padding : Array Nat) (channels : Nat) :
    Buffer :=
  checked "maxpool_fwd" "channels" channels fun channels =>
  maxpoolFwdRaw input inSpatial kernel stride padding channels

@[extern "torchlean_cuda_maxpool_bwd", never_extract]
private opaque maxpoolBwdRaw (input : @& Buffer) (grad : @& Buffer) (inSpatial : @& Array Nat)
    (kernel : @& Array Nat) (stride : @& Array Nat) (padding : @& Array Nat) (channels : UInt32) :
    Buffer

/-- The gradient of `maxpoolFwd` with respect to `input`. -/
def maxpoolBwd (input grad : Buffer) (inSpatial kernel stride padding : Array Nat)
    (channels : Nat) :
    Buffer :=
  checked "maxpool_bwd" "channels" channels fun channels =>
  maxpoolBwdRaw input grad inSpatial kernel stride padding channels

@[extern "torchlean_cuda_avgpool_fwd", never_extract]
private opaque avgpoolFwdRaw (input : @& Buffer) (inSpatial : @& Array Nat)
    (kernel : @& Array Nat) (stride : @& Array Nat) (padding : @& Array Nat) (channels : UInt32) :
    Buffer

/-- The mean of each window, padding counting as 0. -/
def avgpoolFwd (input : Buffer) (inSpatial kernel stride padding : Array Nat) (channels : Nat) :
    Buffer :=
  checked "avgpool_fwd" "channels" channels fun channels =>
  avgpoolFwdRaw input inSpatial kernel stride padding channels

@[extern "torchlean_cuda_avgpool_bwd", never_extract]
private opaque avgpoolBwdRaw (grad : @& Buffer) (inSpatial : @& Array Nat) (kernel : @& Array Nat)
    (stride : @& Array Nat) (padding : @& Array Nat) (channels : UInt32) : Buffer

/-- The gradient of `avgpoolFwd`. -/
def avgpoolBwd (grad : Buffer) (inSpatial kernel stride padding : Array Nat) (channels : Nat) :
    Buffer :=
  checked "avgpool_bwd" "channels" channels fun channels =>
  avgpoolBwdRaw grad inSpatial kernel stride padding channels

@[extern "torchlean_cuda_smooth_maxpool_fwd", never_extract]
private opaque smoothMaxpoolFwdRaw (input : @& Buffer) (beta : Float) (inSpatial : @& Array Nat)
    (kernel : @& Array Nat) (stride : @& Array Nat) (padding : @& Array Nat) (channels : UInt32) :
    Buffer

/-- (1/beta)·log Σ e^(beta·x) of each window, padding counting as 0; `beta` finite and not 0. -/
def smoothMaxpoolFwd (input : Buffer) (beta : Float)
    (inSpatial kernel stride padding : Array Nat) (channels : Nat) :
    Buffer :=
  checked "smooth_maxpool_fwd" "channels" channels fun channels =>
  smoothMaxpoolFwdRaw input beta inSpatial kernel stride padding channels

@[extern "torchlean_cuda_smooth_maxpool_bwd", never_extract]
private opaque smoothMaxpoolBwdRaw (input : @& Buffer) (grad : @& Buffer) (beta : Float)
    (inSpatial : @& Array Nat) (kernel : @& Array Nat) (stride : @& Array Nat)
    (padding : @& Array Nat) (channels : UInt32) : Buffer

/-- The gradient of `smoothMaxpoolFwd` with respect to `input`. -/
def smoothMaxpoolBwd (input grad : Buffer) (beta : Float)
    (inSpatial kernel stride padding : Array Nat) (channels : Nat) :
    Buffer :=
  checked "smooth_maxpool_bwd" "channels" channels fun channels =>
  smoothMaxpoolBwdRaw input grad beta inSpatial kernel stride padding channels

end Buffer

/-! ## Kernels compiled at run time

Their language is not specified yet: every call fails as "not supported". -/

namespace Kernel

/-- `count` words of `format` from encoded inputs. -/
@[extern "torchlean_kernel_run_encoded", never_extract]
opaque runEncoded (source : @& String) (inputs : @& Array Buffer) (format : @& FloatFormat)
    (width : UInt64) (count : UInt64) : Buffer

/-- `count` elements from native inputs. -/
@[extern "torchlean_kernel_run_buffer"]
opaque runBuffer (source : @& String) (inputs : @& Array Buffer) (count : UInt64) : IO Buffer

/-- `count` words of `width` bytes from host arrays. -/
@[extern "torchlean_kernel_run_bytes"]
opaque runBytes (source : @& String) (format : UInt32) (width : UInt64)
    (arrays : @& Array ByteArray) (count : UInt64) : IO ByteArray

end Kernel
end TorchLean.Runtime
