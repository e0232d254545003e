import struct Synchronization.Atomic

// All of the production code that exists for tests, in one list. This file alone reads the environment
// variables; TidyTests compares the table with the sources.
//
// | file               | hook                                               | reached through                      |
// | ------------------ | -------------------------------------------------- | ------------------------------------ |
// | TestHooks          | `ALBUMFS_TESTS_*`                                  | the environment                      |
// | StoreConfiguration | `KDFCost.interactive`, which protects nothing      | `--kdf interactive`                  |
// | StoreCommands      | `--kdf interactive`, if weak passwords are allowed | the command line                     |
// | Mount              | `--no-syscall-inspection`, a hidden option         | the command line                     |
// | SimulatedKeys      | security keys behind sockets                       | the environment, in debug builds     |
// | Misbehaviour       | pictures that crash or hang the decoder            | `WorkerLaunch`, in debug builds      |
// | WorkerLaunch       | options of the decoder that no daemon passes       | code that starts the decoder         |
// | Cell               | the same options, as the decoder reads them        | the decoder's command line           |
// | CellProgram        | the command line with these options                | the same                             |
// | Precaution         | the steps that the crash harness leaves out        | `SpaceOpenOptions.omitting`          |
// | SpaceContext       | `omitting`; a space without threads of its own     | code that opens a space              |
// | Journal            | the state of an omitted `provenAtUnlink`           | `omitting`                           |
// | FileFallback       | the state of an omitted `fallbackPerFile`          | `omitting`                           |
// | JournalReplay      | the state of an omitted `chainedFrames`            | `omitting`                           |
// | Relocation         | what happens without `comparedMove`                | `omitting`                           |
// | SpaceLife          | the last step of a session, as a call              | code that has a space                |
// | Store              | a store without key slots                          | code that opens a store              |
// | StorageDirectory   | defaults for simulated disks                       | code that implements a disk          |

/// What the environment and the tests of a process may change. The environment counts as it was at the first
/// use.
package enum TestHooks {
  package enum Variable: String {
    /// `yes`: new slots may be sealed at almost no cost, and `init` accepts `--kdf interactive`. Every use
    /// warns (`Store.warnings`), so that nobody sets it by accident.
    case allowWeakPasswords = "ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS"
    /// `yes`: sessions add no chaff, and stores start with few segments, for tests that count segments.
    /// Creating or mounting a store warns (`Store.warnWhereChaffIsForbidden`).
    case forbidChaff = "ALBUMFS_TESTS_FORBID_CHAFF"
    /// `yes`: albumfs behaves as on a machine without instructions for AES. It can only make albumfs choose
    /// the other cipher and refuse spaces.
    case hideAES = "ALBUMFS_TESTS_HIDE_AES"
    /// `yes`: the gallery imports from addresses of this machine too, for tests with servers of their own. In
    /// debug builds alone.
    case loadLocally = "ALBUMFS_TESTS_LOAD_LOCALLY"
    /// The transport between the kernel and mounts that name none: `device`, `uring` or `auto`.
    case transport = "ALBUMFS_TESTS_TRANSPORT"
    /// Debug builds only. Fixed delays that are others than a user's, in seconds: `undo=0.5,handshake=2`.
    /// `Delay` has their names.
    case delays = "ALBUMFS_TESTS_DELAYS"
    /// Debug builds only. The sockets of simulated security keys, separated by colons; an empty value means
    /// that no key is plugged in.
    case securityKeys = "ALBUMFS_TESTS_FIDO2"

    fileprivate var value: String? { PathCalls.variable(rawValue) }
    fileprivate var isYes: Bool { value == "yes" }
  }

  // MARK: Weak passwords

  private static let environmentAllowsWeakPasswords = Variable.allowWeakPasswords.isYes
  private static let processAllowsWeakPasswords = Atomic(false)

  package static var allowsWeakPasswords: Bool {
    environmentAllowsWeakPasswords || processAllowsWeakPasswords.load(ordering: .relaxed)
  }

  /// Allows weak passwords in this process, for tests that call the core. It cannot be undone.
  package static func allowWeakPasswords() {
    processAllowsWeakPasswords.store(true, ordering: .relaxed)
  }

  // MARK: Delays

  /// Fixed delays of albumfs that a test can neither wait for nor hurry. A build for users has no others than
  /// those in the source, and no test changes anything but a time.
  package enum Delay: String, CaseIterable {
    /// The time in which the gallery's users can undo a deletion.
    case undo
    /// The time that a listing of the gallery waits for the details of its photos.
    case details
    /// The time after which the gallery tells a page that nothing has changed.
    case changes
    /// The time that a connection to the gallery may be without a request, and a stream of it without bytes.
    case idleConnection = "idle-connection"
    /// The time without a request after which a page of the gallery counts as closed.
    case page
    /// The time for a TLS handshake with the gallery.
    case handshake
    /// The time that the gallery waits for a slice of an upload to go on.
    case slice
    /// The time in which a server in the web must send the gallery some kilobytes.
    case slowServer = "slow-server"
    /// The time that the gallery waits for the whole of a small body.
    case body
    /// The least time of a refused login at the gallery.
    case refusal
    /// Each refused login delays the next one by this.
    case nextRefusal = "next-refusal"
    /// The time without a new file after which an album counts as complete.
    case album
    /// The time for which the room on a disk counts as known.
    case room
    /// The time between two rounds of a space's housekeeping thread, and the time without a call after which
    /// it works at full speed.
    case housekeeping
    /// The time between two records of how far a space's history goes.
    case history
    /// The time that commands wait for a lock.
    case lock
    /// The time that `lock` waits for the daemon's end.
    case locking
    /// A mount on a network watches a session that has not ended.
    case watch
    /// The time between two looks of a mount for reading at what the writer has on disk.
    case following
    /// A reader waits for a store that does not respond, and the end of a session does.
    case outage
    /// A call that takes so long counts as one to a store that does not respond.
    case silence
    /// The time for which a request to an object storage is tried again.
    case remote
  }

  #if DEBUG
  private static let delays = parse(Variable.delays.value ?? "")

  /// Stops the process where a name or a number is wrong: a test would wait for a user's delay without it.
  private static func parse(_ text: String) -> [Delay: Duration] {
    var delays: [Delay: Duration] = [:]
    for part in text.split(separator: ",") {
      let words = part.split(separator: "=")
      guard words.count == 2, let delay = Delay(rawValue: String(words[0])),
        let seconds = Double(words[1]), (0...86_400).contains(seconds)
      else { fatalError("\(Variable.delays.rawValue) has no delay \(part)") }
      delays[delay] = .milliseconds(Int64(seconds * 1000))
    }
    return delays
  }
  #endif

  /// Returns a delay: `usual`, unless the environment of a debug build has another.
  package static func delay(_ delay: Delay, _ usual: Duration) -> Duration {
    #if DEBUG
    delays[delay] ?? usual
    #else
    usual
    #endif
  }

  // MARK: Others

  package static let forbidsChaff = Variable.forbidChaff.isYes
  package static let hidesAES = Variable.hideAES.isYes
  package static let transport = Variable.transport.value

  #if DEBUG
  package static let loadsLocally = Variable.loadLocally.isYes
  package static let securityKeys = Variable.securityKeys.value?.split(separator: ":").map(
    String.init)
  #else
  package static let loadsLocally = false
  #endif
}
