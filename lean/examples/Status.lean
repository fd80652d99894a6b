import TorchLean.Runtime.Kernels

/-! Prints what serves the process, its devices, and the allocator's figures. -/

open TorchLean.Runtime

def line (name value : String) : IO Unit :=
  IO.println (String.append name (String.append ": " value))

def main : IO UInt32 := do
  let status ← runtimeStatus
  line "status" status.name
  let library ← libraryVersion
  line "computes with" library
  let count ← deviceCount
  line "devices" (toString count)
  match status with
  | .nativeAvailable =>
    let device ← getDevice
    let name ← deviceName device
    line "selected device" name
    let x ← Buffer.fullIO 1000 0.5 Dtype.float32
    let total ← Buffer.toFloatArrayIO (Buffer.reduceSum (Buffer.exp x))
    line "the sum of 1000 times e^0.5" (toString (total.get! 0))
  | _ => line "no operation was tried" "see `torchlean status`"
  let stats ← allocatorStats
  line "allocator" stats.report
  match status with
  | .nativeAvailable => pure 0
  | _ => pure 1
