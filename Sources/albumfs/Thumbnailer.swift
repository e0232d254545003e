import Posix

/// Where albumfs-thumbnailer is.
enum Thumbnailer {
  private static let name = "albumfs-thumbnailer"

  /// The one asked for, else the one beside this program, else in ../libexec/albumfs, else along
  /// PATH; nil where there is none that can be run.
  static func find(_ given: String?) -> String? {
    if let given { return runnable(MountPath.resolve(given)) }
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
