/// What the daemon asks for on the command line: `--memory BYTES`, `--processor-seconds S`, `--eager`,
/// and for tests `--allow-misbehaviour`, `--hide-landlock`, `--hide-namespaces`. Anything else is
/// ignored: only albumfs starts this program.
struct Arguments {
  var bounds = Cell.Bounds(memory: 2 << 30, processorSeconds: 120)
  var allowsMisbehaviour = false

  init(_ words: ArraySlice<String>) {
    var words = words
    while let word = words.popFirst() {
      switch word {
      case "--memory":
        if let bytes = words.popFirst().flatMap(UInt64.init) { bounds.memory = bytes }
      case "--processor-seconds":
        if let seconds = words.popFirst().flatMap(UInt64.init) { bounds.processorSeconds = seconds }
      case "--allow-misbehaviour": allowsMisbehaviour = true
      case "--hide-landlock": bounds.hidesLandlock = true
      case "--hide-namespaces": bounds.hidesNamespaces = true
      case "--eager": bounds.isEager = true
      default: break
      }
    }
  }
}
