import TorchLean.Runtime.Kernels

/-! `lake test`: the package's own logic, on whichever backend serves. -/

open TorchLean.Runtime

/-- Prints a fact that does not hold, and counts it. -/
def check (failures : IO.Ref Nat) (holds : Bool) (fact : String) : IO Unit :=
  match holds with
  | true => pure ()
  | false => do
    IO.println (String.append "does not hold: " fact)
    failures.modifyGet fun count => ((), Nat.add count 1)

def throws {α : Type} (action : IO α) : IO Bool :=
  tryCatch (do let _ ← action; pure false) fun _ => pure true

def first (b : Buffer) : IO Float := do
  let values ← b.toFloatArrayIO
  pure (values.get! 0)

def isEqual (a b : Float) : Bool := Nat.beq a.toBits.toNat b.toBits.toNat

def main : IO UInt32 := do
  let failures ← IO.mkRef 0
  let status ← runtimeStatus
  check failures (decide (Eq status RuntimeStatus.nativeAvailable)) "a backend serves"
  check failures (decide (Eq (RuntimeStatus.ofCode 7) RuntimeStatus.nativeUnavailable))
    "an unknown code is nativeUnavailable"

  let token ← freshToken
  let next ← freshToken
  check failures (not (Nat.beq token.toNat next.toNat)) "tokens differ"

  let x ← Buffer.fullIO 3 1.5 Dtype.float32
  let sum ← first (Buffer.add x x)
  check failures (isEqual sum 3.0) "1.5 + 1.5 = 3"
  let bytes ← x.toBytesIO
  check failures (Nat.beq bytes.size 12) "three float32 words have 12 bytes"
  let product ← first (Buffer.bmmTransposeB x x 1 1 3 1)
  check failures (isEqual product 6.75) "the dot product of (1.5, 1.5, 1.5) with itself is 6.75"

  let before ← allocatorStats
  let released ← x.release
  let again ← x.release
  let size ← x.sizeIO
  check failures (and released (not again)) "release retires a payload once"
  check failures (Nat.beq size.toNat 0) "a released buffer has size 0"
  let after ← allocatorStats
  check failures (Nat.beq before.liveBytes.toNat (Nat.add after.liveBytes.toNat 12))
    "release gives 12 bytes back, read anew at each call"

  let tooLarge ← throws (Buffer.softmaxIO sumOfNothing (Array.singleton 1) 4294967296)
  check failures tooLarge "an axis beyond 32 bits is refused, not wrapped"
  let wrong ← throws (Buffer.ofBytesIO bytes Dtype.encoded)
  check failures wrong "a wrong dtype throws"
  check failures (and (Buffer.adamEpsilonValid Dtype.float64 1e-300)
    (not (Buffer.adamEpsilonValid Dtype.float32 1e-300))) "epsilon is judged as rounded"

  -- Both bins of (1, 0, 0) are 1; the adjoint's first element is their sum.
  let one := Buffer.full 1 1.0 Dtype.float64
  let impulse := Buffer.concat1d one (Buffer.zeros 2 Dtype.float64) 1 2
  let adjoint ← first (Buffer.rfft1dAdjoint (Buffer.rfft1d impulse 1 3) 1 3)
  check failures (isEqual adjoint 2.0) "the adjoint of rfft counts each bin once"

  let count ← failures.modifyGet fun count => (count, count)
  match Nat.beq count 0 with
  | true => do
    IO.println "the package's tests passed"
    pure 0
  | false => pure 1
where
  sumOfNothing : Buffer := Buffer.reduceSum (Buffer.zeros 0 Dtype.float32)
