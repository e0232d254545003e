import AlbumSecrets
import ControlProtocol
import Glibc
import Posix

/// Reads passwords directly into guarded memory.
enum PasswordInput {
  /// The longest password, in bytes.
  static let limit = 4096

  /// Asks for an existing password. Shows `prompt` only on a terminal.
  static func existing(_ source: PasswordSource, prompt: String) throws(Failure) -> SecretBytes {
    try read(source, prompt)
  }

  /// Asks for a new password, on a terminal twice.
  static func new(
    _ source: PasswordSource, prompt: String, strength: Strength, options: String = usualOptions
  ) throws(Failure) -> SecretBytes {
    let first = try read(source, prompt, options)
    if source == .terminal {
      let second = try read(source, "Once more: ", options)
      guard first.isEqual(to: second) else {
        throw Failure(.noPassword, "The two passwords differ; nothing was changed.")
      }
    }
    if PasswordStrength.isWeak(first) { Terminal.complain(strength.warning) }
    return first
  }

  /// What a weak new password is worth, and to whom.
  enum Strength {
    case alone, besidesKey

    fileprivate var warning: String {
      switch self {
      case .alone:
        "This password is weak: somebody who gets the store can guess it. Five or more words picked at "
          + "random are better."
      case .besidesKey:
        "This password is weak: it adds little to the security key, and somebody who has the store, the key "
          + "and its PIN can guess it. Five or more words picked at random are better."
      }
    }
  }

  /// Asks for the PIN of a security key, which only a terminal gives.
  static func pin(_ prompt: String) throws(Failure) -> SecretBytes {
    guard isatty(STDIN_FILENO) == 1 else {
      throw Failure(
        .noPassword,
        "There is no terminal at standard input to ask for the PIN of the security key.")
    }
    let pin = try fromTerminal(prompt)
    if pin.isEmpty { throw Failure(.emptyPassword, "The PIN is empty.") }
    return pin
  }

  /// The options that name a password where there is no terminal.
  static let usualOptions = "--password-file, --password-command or --password-stdin"

  private static func read(
    _ source: PasswordSource, _ prompt: String, _ options: String = usualOptions
  ) throws(Failure) -> SecretBytes {
    let password =
      switch source {
      case .terminal: try fromTerminal(prompt, options)
      case .file(let path): try fromFile(path)
      case .command(let command): try fromCommand(command)
      case .standardInput: try line(of: STDIN_FILENO, "standard input")
      }
    if password.isEmpty { throw Failure(.emptyPassword, "The password is empty.") }
    return password
  }

  private static func fromTerminal(
    _ prompt: String, _ options: String = usualOptions
  ) throws(Failure) -> SecretBytes {
    guard isatty(STDIN_FILENO) == 1 else {
      let what = options == usualOptions ? "the password" : "the new password"
      throw Failure(.noPassword, "There is no terminal to ask for \(what). Use \(options).")
    }
    TerminalEcho.switchOff(asking: prompt)
    defer { TerminalEcho.restore() }
    return try line(of: STDIN_FILENO, "the terminal")
  }

  private static func fromFile(_ path: String) throws(Failure) -> SecretBytes {
    let file: FileDescriptor
    do throws(Errno) { file = try FileDescriptor(open: path, O_RDONLY) } catch {
      throw Failure(.noPassword, "The password file \(path) cannot be opened: \(error)")
    }
    return try line(of: file.rawValue, path)
  }

  /// Hands a password on to the program that replaces this one, as the first line of its standard input. The
  /// other line follows.
  static func pass(_ password: borrowing SecretBytes, with line: String) throws(Errno) {
    let (ours, theirs) = try makeSocketPair()
    let writing = FileDescriptor(owning: ours)
    let reading = FileDescriptor(owning: theirs)
    try write(password, to: writing)
    try writing.writeAll(Array("\(line)\n".utf8))
    if dup2(reading.rawValue, STDIN_FILENO) < 0 { throw .last }
  }

  /// Writes a password as a line to a socket that is empty, and so takes a password and a path at once.
  static func write(
    _ password: borrowing SecretBytes, to socket: borrowing FileDescriptor
  ) throws(Errno) {
    try unsafe password.withUnsafeBytes { bytes throws(Errno) in
      _ = try unsafe socket.write(bytes)
    }
    try socket.writeAll([UInt8(ascii: "\n")])
  }

  /// The command inherits standard input and standard error, so that it can ask.
  private static func fromCommand(_ command: String) throws(Failure) -> SecretBytes {
    var ends: [CInt] = [-1, -1]
    do throws(Errno) { try retrying { unsafe pipe(&ends) } } catch { throw notRun(error) }
    Subprocess.setCloseOnExec(ends[0])
    let reading = FileDescriptor(owning: ends[0])
    let pid = try start(command, writingTo: FileDescriptor(owning: ends[1]))
    let password = try line(of: reading.rawValue, "the password command")
    drain(reading.rawValue)
    let code: Int32
    do throws(Errno) { code = try Subprocess.wait(pid) } catch { throw notRun(error) }
    if code != 0 {
      throw Failure(.noPassword, "The password command failed with exit code \(code).")
    }
    return password
  }

  private static func start(_ command: String, writingTo output: consuming FileDescriptor)
    throws(Failure) -> pid_t
  {
    Subprocess.setCloseOnExec(output.rawValue)
    let redirection = Subprocess.Redirection(STDOUT_FILENO, output.rawValue)
    do throws(Errno) {
      return try Subprocess.start(["sh", "-c", command], [redirection])
    } catch {
      throw notRun(error)
    }
  }

  private static func notRun(_ error: Errno) -> Failure {
    Failure(.noPassword, "The password command cannot be run: \(error)")
  }

  /// Reads the rest, so that a command that prints more than one line does not fail.
  private static func drain(_ descriptor: CInt) {
    var rest = SecretBytes(randomCount: limit)
    unsafe rest.withUnsafeMutableBytes { room in
      while unsafe Glibc.read(descriptor, room.baseAddress, room.count) > 0 {}
    }
  }

  /// Reads up to the first newline or the end, one byte at a time, so that the rest stays for the next
  /// reader. Drops a carriage return before the newline: Windows ends lines with both.
  static func line(of descriptor: CInt, _ name: String) throws(Failure) -> SecretBytes {
    var length = 0
    let buffer = try unsafe SecretBytes(count: limit) {
      (room: UnsafeMutableRawBufferPointer) throws(Failure) in
      length = try unsafe readLine(descriptor, into: room, name)
    }
    return unsafe buffer.withUnsafeBytes {
      unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<length]))
    }
  }

  private static func readLine(
    _ descriptor: CInt, into room: UnsafeMutableRawBufferPointer, _ name: String
  ) throws(Failure) -> Int {
    for length in 0..<room.count {
      let place = unsafe room.baseAddress! + length
      let count: Int
      do throws(Errno) {
        count = try retrying { unsafe Glibc.read(descriptor, place, 1) }
      } catch {
        throw Failure(.noPassword, "The password cannot be read from \(name): \(error)")
      }
      if count == 0 { return length }
      if unsafe room[length] == UInt8(ascii: "\n") {
        let hasReturn = unsafe length > 0 && room[length - 1] == UInt8(ascii: "\r")
        return hasReturn ? length - 1 : length
      }
    }
    throw Failure(.noPassword, "The password from \(name) is too long.")
  }
}
