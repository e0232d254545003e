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
