import TorchLean.Runtime.Kernels

/-!
Learns handwritten digits on whichever backend serves: 64 pixels, 32 hidden units, 10 classes,
softmax cross-entropy, Adam. The same network as `examples/digits` of the C++ side.

usage: digits FILE      (examples/digits/data/digits.txt of the repository)
-/

open TorchLean.Runtime

namespace Digits

def pixels : Nat := 64
def hidden : Nat := 32
def classes : Nat := 10
def batch : Nat := 32
def epochs : Nat := 4
def kind : Dtype := Dtype.float32

def list1 (a : Nat) : Array Nat := Array.singleton a
def list2 (a b : Nat) : Array Nat := (Array.singleton a).push b

/-! ## Samples: lines of 64 characters, a space, a digit -/

/-- Images (count, 64) with ink in [0, 1], one-hot targets (count, 10). -/
structure Samples where
  count : Nat
  images : FloatArray
  targets : FloatArray

def lineBytes : Nat := 67

/-- `0` to `9`, `a` to `g`: 0 to 16. -/
def level (character : Nat) : Nat :=
  match Nat.blt character 58 with
  | true => Nat.sub character 48
  | false => Nat.sub character 87

partial def pushImage (file : ByteArray) (start i : Nat) (images : FloatArray) : FloatArray :=
  match Nat.blt i pixels with
  | false => images
  | true =>
    let ink := level (file.get! (Nat.add start i)).toNat
    pushImage file start (Nat.add i 1) (images.push (Float.div (Float.ofNat ink) 16.0))

partial def pushTarget (label i : Nat) (targets : FloatArray) : FloatArray :=
  match Nat.blt i classes with
  | false => targets
  | true =>
    match Nat.beq i label with
    | true => pushTarget label (Nat.add i 1) (targets.push 1.0)
    | false => pushTarget label (Nat.add i 1) (targets.push 0.0)

/-- Every fifth sample is held out. -/
def isHeldOut (sample : Nat) : Bool := Nat.beq (Nat.mod sample 5) 4

def same (a b : Bool) : Bool :=
  match a with
  | true => b
  | false => not b

/-- The samples of the file that are held out, or those that are not. -/
partial def read (file : ByteArray) (heldOut : Bool) (sample : Nat) (got : Samples) : Samples :=
  let start := Nat.mul sample lineBytes
  match Nat.ble (Nat.add start lineBytes) file.size with
  | false => got
  | true =>
    match same (isHeldOut sample) heldOut with
    | false => read file heldOut (Nat.add sample 1) got
    | true =>
      let label := level (file.get! (Nat.add start 65)).toNat
      read file heldOut (Nat.add sample 1)
        ⟨Nat.add got.count 1, pushImage file start 0 got.images, pushTarget label 0 got.targets⟩

/-- Samples on the backend. -/
structure Batch where
  count : Nat
  images : Buffer
  targets : Buffer

def upload (samples : Samples) : IO Batch := do
  let images ← Buffer.ofFloatArrayIO samples.images kind
  let targets ← Buffer.ofFloatArrayIO samples.targets kind
  pure ⟨samples.count, images, targets⟩

def slice (all : Batch) (start count : Nat) : Batch :=
  ⟨count,
    Buffer.slice1d all.images (Nat.mul all.count pixels) (Nat.mul start pixels)
      (Nat.mul count pixels),
    Buffer.slice1d all.targets (Nat.mul all.count classes) (Nat.mul start classes)
      (Nat.mul count classes)⟩

/-! ## The network -/

/-- Parameters with their two moments. -/
structure State where
  values : Buffer
  first : Buffer
  second : Buffer

structure Layer where
  inputs : Nat
  outputs : Nat
  weights : State
  bias : State

structure Network where
  hiddenLayer : Layer
  outputLayer : Layer
  beta1Power : Float
  beta2Power : Float

def withMoments (values : Buffer) : State :=
  ⟨values, Buffer.zerosLike values values.size, Buffer.zerosLike values values.size⟩

/-- Weights normal with variance 2 / inputs, biases zero. -/
def makeLayer (inputs outputs : Nat) (key : UInt64) : Layer :=
  let deviation := Float.sqrt (Float.div 2.0 (Float.ofNat inputs))
  let count := UInt32.ofNat (Nat.mul inputs outputs)
  ⟨inputs, outputs, withMoments (Buffer.randNormal count 0.0 deviation key kind),
    withMoments (Buffer.zeros (UInt32.ofNat outputs) kind)⟩

/-- x·W + b -/
def forward (layer : Layer) (x : Buffer) (rows : Nat) : Buffer :=
  let bias := Buffer.broadcastTo layer.bias.values (list1 layer.outputs)
    (list2 rows layer.outputs) (list2 0 1)
  Buffer.add (Buffer.bmm x layer.weights.values 1 rows layer.inputs layer.outputs) bias

def adam (state : State) (gradient : Buffer) (network : Network) : State :=
  let scalars : Buffer.AdamScalars := {
    beta1 := 0.9
    oneMinusBeta1 := 0.1
    beta2 := 0.999
    oneMinusBeta2 := 0.001
    firstMomentCorrection := Float.div 1.0 (Float.sub 1.0 network.beta1Power)
    secondMomentCorrection := Float.div 1.0 (Float.sub 1.0 network.beta2Power)
    epsilon := 0.00000001
    decay := 0.0
    updateScale := Float.sub 0.0 0.01 }
  match Buffer.adamStep state.values gradient state.first state.second scalars with
  | (values, first, second) => ⟨values, first, second⟩

/-- One step of a layer, from its input and the gradient of its output. -/
def update (layer : Layer) (x dOut : Buffer) (rows : Nat) (network : Network) : Layer :=
  let dWeights := Buffer.bmmTransposeA x dOut 1 layer.inputs rows layer.outputs
  let dBias := Buffer.reduceSumAxis dOut (list2 rows layer.outputs) 0
  { layer with
    weights := adam layer.weights dWeights network
    bias := adam layer.bias dBias network }

/-- One step on a batch: the network after it, and the sum of the samples' losses. -/
def train (before : Network) (samples : Batch) : Prod Network Buffer :=
  let rows := samples.count
  let toColumns (vec : Buffer) := Buffer.broadcastVecToCols vec rows classes
  let raw := forward before.hiddenLayer samples.images rows
  let active := Buffer.relu raw
  let logits := forward before.outputLayer active rows
  -- With s = logits - max: loss = log Σ exp s - s[label].
  let shifted := Buffer.sub logits (toColumns (Buffer.reduceMaxByRow logits rows classes))
  let exponentials := Buffer.exp shifted
  let total := Buffer.reduceSumByRow exponentials rows classes
  let chosen := Buffer.reduceSumByRow (Buffer.mul shifted samples.targets) rows classes
  let loss := Buffer.reduceSum (Buffer.sub (Buffer.log total) chosen)
  let probabilities := Buffer.div exponentials (toColumns total)
  let dLogits := Buffer.scale (Buffer.sub probabilities samples.targets)
    (Float.div 1.0 (Float.ofNat rows))
  let weights := before.outputLayer.weights.values
  let dActive := Buffer.bmmTransposeB dLogits weights 1 rows classes hidden
  let dRaw := Buffer.reluBwd raw dActive
  let network := { before with
    beta1Power := Float.mul before.beta1Power 0.9
    beta2Power := Float.mul before.beta2Power 0.999 }
  ({ network with
      hiddenLayer := update before.hiddenLayer samples.images dRaw rows network
      outputLayer := update before.outputLayer active dLogits rows network },
    loss)

partial def trainEpoch (network : Network) (all : Batch) (start : Nat) (loss : Buffer) :
    IO (Prod Network Buffer) :=
  match Nat.blt start all.count with
  | false => pure (network, loss)
  | true =>
    let count := Nat.min batch (Nat.sub all.count start)
    match train network (slice all start count) with
    | (next, more) => trainEpoch next all (Nat.add start batch) (Buffer.add loss more)

/-- How many samples get their right digit. -/
def countCorrect (network : Network) (samples : Batch) : IO Nat := do
  let active := Buffer.relu (forward network.hiddenLayer samples.images samples.count)
  let logits := forward network.outputLayer active samples.count
  let answers := Buffer.firstMaxMaskByRow logits samples.count classes
  let hits ← Buffer.toFloatArrayIO (Buffer.reduceSum (Buffer.mul answers samples.targets))
  pure (hits.get! 0).toUInt64.toNat

def join (a b c d : String) : String := String.append a (String.append b (String.append c d))

partial def run (network : Network) (training heldOut : Batch) (epoch : Nat) : IO Nat := do
  let start ← Buffer.zerosIO 1 kind
  let (next, loss) ← trainEpoch network training 0 start
  let values ← Buffer.toFloatArrayIO loss
  let correct ← countCorrect next heldOut
  let mean := Float.div (values.get! 0) (Float.ofNat training.count)
  IO.println (String.append (join "epoch " (toString epoch) "   loss " (toString mean))
    (join "   held-out samples right: " (toString correct) " of " (toString heldOut.count)))
  match Nat.blt epoch epochs with
  | true => run next training heldOut (Nat.add epoch 1)
  | false => pure correct

end Digits

open Digits

def main (arguments : List String) : IO UInt32 := do
  match arguments with
  | .cons path .nil =>
    let file ← IO.FS.readBinFile (System.FilePath.mk path)
    let none : Samples := ⟨0, FloatArray.empty, FloatArray.empty⟩
    let training ← upload (read file false 0 none)
    let heldOut ← upload (read file true 0 none)
    let library ← libraryVersion
    IO.println (String.append "computes with " library)
    let network : Network := ⟨makeLayer pixels hidden (Buffer.mixKey 1 0),
      makeLayer hidden classes (Buffer.mixKey 1 1), 1.0, 1.0⟩
    let correct ← run network training heldOut 1
    match Nat.ble (Nat.mul 94 heldOut.count) (Nat.mul 100 correct) with
    | true => pure 0
    | false => throw (IO.userError "fewer than 94 of 100 held-out samples are right")
  | _ =>
    IO.println "usage: digits FILE"
    pure 2
