import Glibc

// The program that libFuzzer drives. There is one for all targets, because linking takes long. libFuzzer
// calls `LLVMFuzzerInitialize` once and `LLVMFuzzerTestOneInput` for every input. A trap, an error of
// AddressSanitizer, a timeout or too much memory is a finding. A target checks its further promises in `run`,
// with `require`.
//
//     ALBUMFS_FUZZ_TARGET   which target
//     ALBUMFS_FUZZ_SEEDS    a directory: write the target's seeds there instead of fuzzing
//
// `scripts/fuzz` builds and runs it.

/// The target that the environment names; ends the program if there is none.
private let chosen: any FuzzTarget.Type = {
  guard let name = environment("ALBUMFS_FUZZ_TARGET"), let target = allTargets[name] else {
    print("ALBUMFS_FUZZ_TARGET takes one of: " + allTargets.keys.sorted().joined(separator: " "))
    exit(2)
  }
  return target
}()

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
  if environment("ALBUMFS_FUZZ_TARGET") == "list" {
    for name in allTargets.keys.sorted() { print(name) }
    exit(0)
  }
  if let directory = environment("ALBUMFS_FUZZ_SEEDS") {
    for (number, seed) in chosen.seeds().enumerated() { write(seed, "\(directory)/seed-\(number)") }
    exit(0)
  }
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen.run(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}

private func environment(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}

private func write(_ bytes: [UInt8], _ path: String) {
  guard let file = unsafe fopen(path, "w") else { fatalError("cannot write \(path)") }
  unsafe fwrite(bytes, 1, bytes.count, file)
  unsafe fclose(file)
}
