prelude

/-!
A prelude of our own that knows just what the package uses, so that a Lean library without its
standard modules can type-check it and emit its C. Types have the shape that the compiler expects
by name; bodies do not matter and are the shortest that type-check. Never installed, never linked.
-/

set_option autoImplicit false
set_option bootstrap.inductiveCheckResultingUniverse false
set_option genCtorIdx false
set_option genInjectivity false

universe u v w

/-! ## What the compiler itself names -/

unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α
axiom lcUnreachable {α : Sort u} : α

abbrev id {α : Sort u} (a : α) : α := a
abbrev outParam (α : Sort u) : Sort u := α
abbrev optParam (α : Sort u) (_default : α) : Sort u := α

inductive False : Prop
inductive True : Prop where
  | intro : True

def Not (a : Prop) : Prop := a → False

inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a

abbrev Eq.ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α}
    (h : Eq a b) : motive b := h.rec m

theorem rfl {α : Sort u} {a : α} : Eq a a := Eq.refl

theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a := h.rec rfl

abbrev Eq.ndrec_symm.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α}
    (h : Eq b a) : motive b := h.symm.ndrec m

/-- No proof matters here. -/
axiom anything {p : Prop} : p

inductive HEq {α : Sort u} (a : α) : {β : Sort u} → β → Prop where
  | refl : HEq a a

axiom eq_of_heq {α : Sort u} {a b : α} (h : HEq a b) : Eq a b
axiom heq_of_eq {α : Sort u} {a b : α} (h : Eq a b) : HEq a b
abbrev absurd {a : Prop} {b : Sort v} (h : a) (no : a → False) : b := (no h).rec

structure And (a b : Prop) : Prop where
  left : a
  right : b

inductive PUnit : Sort u where
  | unit : PUnit
abbrev Unit : Type := PUnit
abbrev Unit.unit : Unit := PUnit.unit

structure Prod (α : Type u) (β : Type v) where
  fst : α
  snd : β

structure PProd (α : Sort u) (β : Sort v) where
  fst : α
  snd : β

structure PULift.{r, s} (α : Sort s) : Sort (max s 1 r) where up ::
  down : α

inductive Bool where
  | false
  | true

inductive Nat where
  | zero
  | succ (n : Nat)

inductive Option (α : Type u) where
  | none
  | some (value : α)

inductive List (α : Type u) where
  | nil
  | cons (head : α) (tail : List α)

class inductive Nonempty (α : Sort u) : Prop where
  | intro (value : α) : Nonempty α

axiom Classical.choice {α : Sort u} : Nonempty α → α
noncomputable abbrev Classical.ofNonempty {α : Sort u} [some : Nonempty α] : α :=
  Classical.choice some

class Inhabited (α : Sort u) where
  default : α

instance {α : Sort u} [Inhabited α] : Nonempty α := Nonempty.intro Inhabited.default

structure Subtype {α : Sort u} (p : α → Prop) where
  val : α
  property : p val

abbrev NonemptyType : Type (u + 1) := Subtype fun α : Type u => Nonempty α
abbrev NonemptyType.type (type : NonemptyType.{u}) : Type u := type.val

instance : Inhabited NonemptyType.{u} := ⟨⟨PUnit, Nonempty.intro PUnit.unit⟩⟩

class inductive Decidable (p : Prop) where
  | isFalse (h : Not p)
  | isTrue (h : p)
export Decidable (isFalse isTrue)
abbrev DecidableEq (α : Sort u) := (a b : α) → Decidable (Eq a b)

export Bool (false true)
abbrev DecidablePred {α : Sort u} (p : α → Prop) := (a : α) → Decidable (p a)
@[macro_inline] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  match h with
  | isTrue _ => t
  | isFalse _ => e
@[macro_inline] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α)
    (e : Not c → α) : α :=
  match h with
  | isTrue h => t h
  | isFalse h => e h
@[macro_inline] def cond {α : Sort u} (c : Bool) (t e : α) : α :=
  match c with
  | true => t
  | false => e

/-! ## Numbers -/

class OfNat (α : Type u) (_ : Nat) where
  ofNat : α
class OfScientific (α : Type u) where
  ofScientific (mantissa : Nat) (exponentSign : Bool) (decimalExponent : Nat) : α

@[default_instance 100]
instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩
instance : Inhabited Nat := ⟨Nat.zero⟩
instance : Inhabited Bool := ⟨Bool.false⟩

@[extern "lean_nat_add"] opaque Nat.add (n m : Nat) : Nat
@[extern "lean_nat_sub"] opaque Nat.sub (n m : Nat) : Nat
@[extern "lean_nat_mul"] opaque Nat.mul (n m : Nat) : Nat
@[extern "lean_nat_div"] opaque Nat.div (n m : Nat) : Nat
@[extern "lean_nat_mod"] opaque Nat.mod (n m : Nat) : Nat
@[extern "lean_nat_dec_eq"] opaque Nat.beq (n m : Nat) : Bool
@[extern "lean_nat_dec_le"] opaque Nat.ble (n m : Nat) : Bool
@[extern "lean_nat_dec_lt"] opaque Nat.blt (n m : Nat) : Bool
/-- Reduces on literals, as the functions made for enumerations need it. -/
@[extern "lean_nat_dec_eq"]
def Nat.decEq (n m : @& Nat) : Decidable (Eq n m) :=
  match Nat.beq n m with
  | true => isTrue anything
  | false => isFalse anything
instance (n m : Nat) : Decidable (Eq n m) := Nat.decEq n m
@[extern "nat_min"] opaque Nat.min (n m : Nat) : Nat
@[extern "bool_not"] opaque not (b : Bool) : Bool
@[macro_inline] def Decidable.decide (p : Prop) [h : Decidable p] : Bool :=
  match h with
  | isTrue _ => true
  | isFalse _ => false
export Decidable (decide)
@[extern "bool_and"] opaque and (a b : Bool) : Bool

structure UInt8 where
  number : Nat
structure UInt32 where
  number : Nat
structure UInt64 where
  number : Nat
structure Float where
  number : Nat
structure Float32 where
  number : Nat

instance : Inhabited UInt32 := ⟨⟨0⟩⟩
instance : Inhabited UInt64 := ⟨⟨0⟩⟩
axiom someFloat : Nonempty Float
axiom someFloat32 : Nonempty Float32
instance : Nonempty Float := someFloat
instance : Nonempty Float32 := someFloat32

@[extern "lean_uint32_of_nat"] opaque UInt32.ofNat (n : @& Nat) : UInt32
@[extern "lean_uint32_to_nat"] opaque UInt32.toNat (n : UInt32) : Nat
@[extern "lean_uint32_add"] opaque UInt32.add (a b : UInt32) : UInt32
@[extern "lean_uint32_to_float"] opaque UInt32.toFloat (n : UInt32) : Float
instance {n : Nat} : OfNat UInt32 n := ⟨UInt32.ofNat n⟩

@[extern "lean_uint8_to_nat"] opaque UInt8.toNat (n : UInt8) : Nat
instance : Inhabited UInt8 := ⟨⟨0⟩⟩

@[extern "lean_uint64_of_nat"] opaque UInt64.ofNat (n : @& Nat) : UInt64
@[extern "lean_uint64_to_nat"] opaque UInt64.toNat (n : UInt64) : Nat
@[extern "lean_uint64_add"] opaque UInt64.add (a b : UInt64) : UInt64
@[extern "lean_uint64_mul"] opaque UInt64.mul (a b : UInt64) : UInt64
@[extern "lean_uint64_xor"] opaque UInt64.xor (a b : UInt64) : UInt64
@[extern "lean_uint64_shift_right"] opaque UInt64.shiftRight (a b : UInt64) : UInt64
instance {n : Nat} : OfNat UInt64 n := ⟨UInt64.ofNat n⟩

@[extern "lean_float_of_scientific"]
opaque Float.ofScientific (mantissa : Nat) (exponentSign : Bool) (decimalExponent : Nat) : Float
@[extern "lean_float_div"] opaque Float.div (a b : Float) : Float
@[extern "lean_float_to_bits"] opaque Float.toBits (x : Float) : UInt64
@[extern "lean_float_to_float32"] opaque Float.toFloat32 (x : Float) : Float32
@[extern "lean_float32_to_float"] opaque Float32.toFloat (x : Float32) : Float
@[extern "lean_float_of_nat"] opaque Float.ofNat (n : @& Nat) : Float
@[extern "lean_float_mul"] opaque Float.mul (a b : Float) : Float
@[extern "lean_float_sub"] opaque Float.sub (a b : Float) : Float
@[extern "sqrt"] opaque Float.sqrt (x : Float) : Float
@[extern "lean_float_to_uint64"] opaque Float.toUInt64 (x : Float) : UInt64
@[default_instance] instance : OfScientific Float := ⟨Float.ofScientific⟩

/-! ## Texts and arrays -/

structure Char where
  number : UInt32
structure String where
  characters : List Char
instance : Inhabited String := ⟨⟨List.nil⟩⟩
@[extern "lean_string_append"] opaque String.append (a : String) (b : @& String) : String

class ToString (α : Type u) where
  toString : α → String
export ToString (toString)
@[extern "nat_repr"] opaque Nat.repr (n : @& Nat) : String
@[extern "uint64_repr"] opaque UInt64.repr (n : UInt64) : String
@[extern "uint32_repr"] opaque UInt32.repr (n : UInt32) : String
@[extern "lean_float_to_string"] opaque Float.toString (x : Float) : String
instance : ToString String := ⟨id⟩
instance : ToString Nat := ⟨Nat.repr⟩
instance : ToString UInt32 := ⟨UInt32.repr⟩
instance : ToString Float := ⟨Float.toString⟩
instance : ToString UInt64 := ⟨UInt64.repr⟩

inductive Std.Format where
  | text (content : String)
class Repr (α : Type u) where
  reprPrec : α → Nat → Std.Format

structure Array (α : Type u) where
  toList : List α
structure ByteArray where
  data : Array UInt8
structure FloatArray where
  data : Array Float

instance {α : Type u} : Inhabited (Option α) := ⟨Option.none⟩
instance {α : Type u} : Inhabited (Array α) := ⟨⟨List.nil⟩⟩
instance : Inhabited ByteArray := ⟨⟨⟨List.nil⟩⟩⟩
instance : Inhabited FloatArray := ⟨⟨⟨List.nil⟩⟩⟩
instance {α : Type u} {β : Type v} [a : Nonempty α] [b : Nonempty β] : Nonempty (Prod α β) :=
  a.rec fun x => b.rec fun y => Nonempty.intro (x, y)

@[extern "lean_array_get_size"] opaque Array.size {α : Type u} (a : @& Array α) : Nat
@[extern "array_singleton"] opaque Array.singleton {α : Type u} (value : α) : Array α
@[extern "lean_array_push"] opaque Array.push {α : Type u} (a : Array α) (value : α) : Array α
@[extern "array_foldl"]
def Array.foldl {α : Type u} {β : Type v} (_f : β → α → β) (init : β) (_as : Array α) : β := init

@[extern "lean_byte_array_size"] opaque ByteArray.size (a : @& ByteArray) : Nat
@[extern "lean_byte_array_get"] opaque ByteArray.get! (a : @& ByteArray) (i : @& Nat) : UInt8
def FloatArray.empty : FloatArray := ⟨⟨List.nil⟩⟩
@[extern "lean_float_array_push"] opaque FloatArray.push (a : FloatArray) (x : Float) : FloatArray
@[extern "lean_float_array_get"] opaque FloatArray.get! (a : @& FloatArray) (i : @& Nat) : Float

/-! ## IO -/

class Pure (m : Type u → Type v) where
  pure {α : Type u} : α → m α
class Bind (m : Type u → Type v) where
  bind {α β : Type u} : m α → (α → m β) → m β
class Monad (m : Type u → Type v) extends Pure m, Bind m
export Pure (pure)
export Bind (bind)

class MonadExcept (ε : outParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : m α → (ε → m α) → m α
export MonadExcept (throw tryCatch)

opaque Void.nonemptyType (σ : Type) : NonemptyType.{0}
def Void (σ : Type) : Type := (Void.nonemptyType σ).type

inductive EST.Out (ε σ α : Type) where
  | ok : α → Void σ → EST.Out ε σ α
  | error : ε → Void σ → EST.Out ε σ α
def EST (ε σ α : Type) : Type := Void σ → EST.Out ε σ α

def IO.RealWorld : Type := Unit
inductive IO.Error where
  | userError (message : String)
  | unexpectedEof
abbrev IO.userError (message : String) : IO.Error := IO.Error.userError message
instance : Inhabited IO.Error := ⟨IO.Error.unexpectedEof⟩

def EIO (ε α : Type) : Type := EST ε IO.RealWorld α
abbrev IO (α : Type) : Type := EIO IO.Error α

instance {ε : Type} : Monad (EIO ε) where
  pure := fun value world => EST.Out.ok value world
  bind := fun action next world =>
    match action world with
    | EST.Out.ok value world => next value world
    | EST.Out.error error world => EST.Out.error error world
instance {ε : Type} : MonadExcept ε (EIO ε) where
  throw := fun error world => EST.Out.error error world
  tryCatch := fun action handle world =>
    match action world with
    | EST.Out.ok value world => EST.Out.ok value world
    | EST.Out.error error world => handle error world
instance {ε α : Type} [Inhabited ε] : Inhabited (EIO ε α) := ⟨throw Inhabited.default⟩

structure IO.Ref (α : Type) where
  value : α
instance {α : Type} [Inhabited α] : Inhabited (IO.Ref α) := ⟨⟨Inhabited.default⟩⟩
/-- Runs when a module that holds a reference is imported. -/
def IO.mkRef {α : Type} (value : α) : IO (IO.Ref α) := pure ⟨value⟩
@[extern "ref_modify_get"]
opaque IO.Ref.modifyGet {α β : Type} (ref : IO.Ref α) (f : α → Prod β α) : IO β

structure System.FilePath where
  toString : String
@[extern "io_println"] opaque IO.println {α : Type} [ToString α] (value : α) : IO Unit
@[extern "io_read_file"] opaque IO.FS.readBinFile (file : @& System.FilePath) : IO ByteArray
