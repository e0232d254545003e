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
