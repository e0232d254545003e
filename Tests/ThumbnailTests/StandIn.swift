import AlbumTestSupport
import Foundation
import Thumbnails

/// A program that the queue starts in place of the worker, and that does its worst. It is in Python and has
/// the protocol's messages. It runs outside any cell, so it can do what no worker can: open files, fork, and
/// signal all processes of its user.
final class StandIn {
  private let directory: URL
  let program: String

  /// Runs `body` after the hello, unless `body` is to send that itself.
  init(_ body: String, saysHello: Bool = true) throws {
    directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("albumfs-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let path = directory.appendingPathComponent("worker")
    program = path.path
    let script = """
      #!/usr/bin/python3 -S
      import os, signal, socket, struct
      \(Waiting.python)
      s = socket.socket(fileno=3)
      def note(name):
          with open('\(directory.path)/' + name, 'a') as f: f.write(f'{os.getpid()}\\n')
      def reply(id, body, kind=1, detail=1, count=None, facts=bytes(48)):
          if kind == 1 and id != 0: body = facts + body
          count = len(body) if count is None else count
          head = struct.pack('<4sBBHQII', b'ATa1', kind, detail, 0, id, count, 0)
          s.sendall(head + body)
      def take(count):
          got = b''
          while len(got) < count:
              part = s.recv(min(1 << 16, count - len(got)))
              if not part: raise SystemExit
              got += part
          return got
      def asking(id, offset, count):
          return struct.pack('<4sBBHQIIQI', b'ATa1', 4, 0, 0, id, 12, 0, offset, count)
      def ask(id, offset, count): s.sendall(asking(id, offset, count))
      def request():
          _, _, id, edge, _, count = struct.unpack('<4sB3xQIIQ', take(32))
          return id, count
      jpeg = bytes.fromhex('ffd8' 'ffc0000b080010001001011100' 'ffda0008010100003f00' '55ff0055' 'ffd9')
      note('started')
      if \(saysHello ? "True" : "False"): reply(0, struct.pack('<II', 7, 0x1fe), 0, 0)

      """
    try (script + body + "\n").write(to: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var launch: WorkerLaunch {
    var launch = WorkerLaunch(program: program)
    launch.firstAllowance = .seconds(1)
    launch.longAllowance = .seconds(2)
    return launch
  }

  /// Makes a file of that name beside the program, which may wait for it.
  func note(_ name: String) throws {
    try Data().write(to: directory.appendingPathComponent(name))
  }

  /// Returns the processes that have recorded themselves under this name.
  func processes(_ name: String = "started") -> [pid_t] {
    let path = directory.appendingPathComponent(name).path
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { pid_t($0) }
  }
}

/// True if a process exists and is no zombie.
func isAlive(_ process: pid_t) -> Bool {
  guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
    return false
  }
  return stat.split(separator: ")").last?.split(separator: " ").first != "Z"
}
