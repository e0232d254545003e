internal import AlbumModel

/// The system call that a thread is in, from /proc/<tid>/syscall: the number and six arguments.
struct SystemCall: Equatable, Sendable {
  let number: Int
  let arguments: [UInt64]

  init(number: Int, arguments: [UInt64]) {
    self.number = number
    self.arguments = arguments
  }

  /// nil for `running`, and for -1, which is a thread blocked outside of any system call.
  init?(procText: [UInt8]) {
    let fields = procText.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    guard fields.count >= 7, let number = SystemCall.number(fields[0], radix: 10) else {
      return nil
    }
    var arguments: [UInt64] = []
    for field in fields[1...6] {
      guard field.starts(with: "0x".utf8),
        let argument = SystemCall.number(field.dropFirst(2), radix: 16)
      else { return nil }
      arguments.append(argument)
    }
    self.init(number: Int(truncatingIfNeeded: number), arguments: arguments)
  }

  /// Reads bytes, because this runs for each look-up of a thumbnail, and text takes four times as long.
  private static func number(_ digits: ArraySlice<UInt8>, radix: UInt64) -> UInt64? {
    if digits.isEmpty || digits.count > 16 { return nil }
    var value: UInt64 = 0
    for digit in digits {
      let nibble: UInt64
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
      if nibble >= radix { return nil }
      value = value &* radix &+ nibble
    }
    return value
  }
}

/// A system call that makes a name, and the places of its arguments.
struct Creation: Equatable, Sendable {
  /// The condition under which an existing name is an error for the caller.
  enum Exclusion: Equatable, Sendable {
    case directory
    case always
    /// The argument holds open flags; only O_CREAT|O_EXCL together.
    case openFlags(argument: Int)
    /// The argument points to a struct open_how, whose first member are the flags.
    case openHow(argument: Int)
    /// The argument holds renameat2 flags; only RENAME_NOREPLACE.
    case renameFlags(argument: Int)
  }
  let call: SystemCall
  /// The argument that points to the path of the new name.
  let path: Int
  /// The argument that points to the existing path that gets the new name. The kernel looks it up first.
  let source: Int?
  let exclusion: Exclusion

  private static let pathLimit = 4096
  private static let createExclusive: UInt64 = 0o100 | 0o200
  private static let noReplace: UInt64 = 1

  /// nil for a call that makes no name, or that accepts an existing one.
  init?(_ call: SystemCall) {
    guard let (path, source, exclusion) = Creation.table(call.number) else { return nil }
    self.call = call
    self.path = path
    self.source = source
    self.exclusion = exclusion
  }

  /// Returns what this call is about to do with `name`. `memory` returns up to the given number of bytes at
  /// an address in the caller's memory, or fewer if it cannot read them.
  func intent(toward name: FileName, memory: (UInt64, Int) -> [UInt8]) -> CallerIntent {
    guard isExclusive(memory) else { return .other }
    guard names(name, argument: path, memory) else { return .other }
    // `link Thumb/a.jpg elsewhere/a.jpg`: nothing shows which of the two the kernel looks up. Hiding the
    // source breaks a correct call. Showing the target only makes a call fail that may be one.
    if let source, names(name, argument: source, memory) { return .other }
    return exclusion == .directory ? .makesDirectory : .createsExclusively
  }

  private func isExclusive(_ memory: (UInt64, Int) -> [UInt8]) -> Bool {
    switch exclusion {
    case .directory, .always: true
    case .openFlags(let argument): Creation.isExclusive(openFlags: call.arguments[argument])
    case .openHow(let argument):
      Creation.isExclusive(openFlags: Creation.word(memory(call.arguments[argument], 8)))
    case .renameFlags(let argument): call.arguments[argument] & Creation.noReplace != 0
    }
  }

  private static func isExclusive(openFlags: UInt64) -> Bool {
    openFlags & createExclusive == createExclusive
  }

  private static func word(_ bytes: [UInt8]) -> UInt64 {
    bytes.count < 8 ? 0 : bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// True if the path ends in `name` and has it nowhere else. The kernel also looks up the components before
  /// the last one.
  private func names(_ name: FileName, argument: Int, _ memory: (UInt64, Int) -> [UInt8]) -> Bool {
    let bytes = memory(call.arguments[argument], Creation.pathLimit)
    guard let end = bytes.firstIndex(of: 0) else { return false }
    let components = bytes[..<end].split(separator: UInt8(ascii: "/"))
    guard let last = components.last, last.elementsEqual(name.bytes) else { return false }
    return !components.dropLast().contains { $0.elementsEqual(name.bytes) }
  }
}

extension Creation {
  private typealias Row = (path: Int, source: Int?, exclusion: Exclusion)

  #if arch(x86_64)
  /// From arch/x86/entry/syscalls/syscall_64.tbl. creat (85), rename (82) and renameat (264) accept an
  /// existing name, so they have no row.
  private static func table(_ number: Int) -> Row? {
    switch number {
    case 83: (0, nil, .directory)  // mkdir(path, mode)
    case 258: (1, nil, .directory)  // mkdirat(dir, path, mode)
    case 2: (0, nil, .openFlags(argument: 1))  // open(path, flags, mode)
    case 257: (1, nil, .openFlags(argument: 2))  // openat(dir, path, flags, mode)
    case 437: (1, nil, .openHow(argument: 2))  // openat2(dir, path, how, size)
    case 86: (1, 0, .always)  // link(old, new)
    case 265: (3, 1, .always)  // linkat(olddir, old, newdir, new, flags)
    case 88: (1, nil, .always)  // symlink(target, path)
    case 266: (2, nil, .always)  // symlinkat(target, dir, path)
    case 133: (0, nil, .always)  // mknod(path, mode, device)
    case 259: (1, nil, .always)  // mknodat(dir, path, mode, device)
    case 316: (3, 1, .renameFlags(argument: 4))  // renameat2(olddir, old, newdir, new, flags)
    default: nil
    }
  }
  #elseif arch(arm64)
  /// From include/uapi/asm-generic/unistd.h. renameat (38) accepts an existing name, so it has no row. The
  /// calls without a directory argument do not exist.
  private static func table(_ number: Int) -> Row? {
    switch number {
    case 34: (1, nil, .directory)  // mkdirat(dir, path, mode)
    case 56: (1, nil, .openFlags(argument: 2))  // openat(dir, path, flags, mode)
    case 437: (1, nil, .openHow(argument: 2))  // openat2(dir, path, how, size)
    case 37: (3, 1, .always)  // linkat(olddir, old, newdir, new, flags)
    case 36: (2, nil, .always)  // symlinkat(target, dir, path)
    case 33: (1, nil, .always)  // mknodat(dir, path, mode, device)
    case 276: (3, 1, .renameFlags(argument: 4))  // renameat2(olddir, old, newdir, new, flags)
    default: nil
    }
  }
  #else
  #error("The numbers of the system calls that make names must be given for this processor.")
  #endif
}
