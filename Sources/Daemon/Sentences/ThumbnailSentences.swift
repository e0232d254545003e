import Posix
import Thumbnails

/// Why albumfs makes no thumbnails in a mounted space.
enum NoThumbnails {
  case readOnly
  /// No program was found that decodes pictures.
  case noProgram
  /// No program was found that decodes videos.
  case noVideoProgram
  /// The threads of the queue cannot be started.
  case noThreads(Errno)
  case noWorker(WorkerFault)

  /// Without a capital at the beginning or a full stop at the end.
  var words: String {
    switch self {
    case .readOnly: "mounted read-only"
    case .noProgram: "no albumfs-thumbnailer was found"
    case .noVideoProgram: "no albumfs-video-thumbnailer was found"
    case .noThreads(let error): "their threads cannot be started (\(error))"
    case .noWorker(let fault): fault.words
    }
  }
}

extension WorkerFault {
  fileprivate var words: String {
    switch self {
    case .notStarted(let program, let error): "cannot start \(program): \(error)"
    case .endedAtOnce(let program): "\(program) ends immediately after it starts"
    case .noSeccomp: "this kernel offers no seccomp, which confines the decoder"
    case .uncountedThreads(let program, let processes):
      "this kernel has no user namespace for \(program), and \(processes) hides its threads (hidepid): "
        + "they can be neither bounded nor counted; allow user namespaces, or mount \(processes) so that "
        + "this user sees all processes (hidepid=0, or gid=)"
    }
  }
}
