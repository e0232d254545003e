import Posix

/// Finds the programs that belong to albumfs.
enum HelperProgram {
  /// The one beside this program, in ../libexec/albumfs, or along PATH; nil if none can be run.
  static func find(_ name: String) -> String? {
    guard let program = MountPath.realPath("/proc/self/exe") else { return nil }
    let directory = program.split(separator: "/").dropLast()
    let beside = "/" + directory.joined(separator: "/")
    let above = "/" + directory.dropLast().joined(separator: "/")
    return runnable("\(beside)/\(name)") ?? runnable("\(above)/libexec/albumfs/\(name)")
      ?? Subprocess.find(name)
  }

  private static func runnable(_ path: String) -> String? {
    PathCalls.isExecutable(path) ? path : nil
  }
}

/// Finds albumfs-thumbnailer and albumfs-video-thumbnailer.
enum Thumbnailer {
  /// The given program, otherwise the one beside this program; nil if none can be run.
  static func find(_ given: String?, _ name: String = "albumfs-thumbnailer") -> String? {
    guard let given else { return HelperProgram.find(name) }
    let path = MountPath.resolve(given)
    return PathCalls.isExecutable(path) ? path : nil
  }
}
