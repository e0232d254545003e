import AlbumTestSupport
import Foundation
import Testing

/// Shells complete verbs, options, and mounts where a mount is meant.
@Suite(.serialized, .timeLimit(.minutes(30))) struct CompletionTests {
  @Test func bashCompletesMountsAndNotDirectories() throws {
    try MountedStore.use { mounted in
      let script = """
        source <(albumfs --generate-completion-script bash)
        COMP_WORDS=(albumfs umount ''); COMP_CWORD=2; COMP_LINE='albumfs umount '; COMP_POINT=15
        cd /; _albumfs albumfs '' umount 2>/dev/null || true
        printf '%s\\n' "${COMPREPLY[@]}"
        """
      let offered = try mounted.sh(
        "set +eu; \(script)"
      ).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(offered.contains(mounted.mountPoint), "\(offered)")
      #expect(!offered.contains("etc") && !offered.contains("/etc"), "\(offered)")
    }
  }

  private static func isInstalled(_ program: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
  }

  @Test(.enabled(if: isInstalled("fish"), "needs fish"))
  func fishCompletesVerbsOptionsAndMounts() throws {
    try complete(
      in: "fish --private", "$W/.config/fish/completions", file: "albumfs.fish",
      setup: #"set fish_color_autosuggestion; function fish_prompt; echo -n "rea"; echo "dy "; end"#
    )
  }

  @Test(.enabled(if: isInstalled("zsh"), "needs zsh"))
  func zshCompletesVerbsOptionsAndMounts() throws {
    try complete(
      in: "zsh -f -i", "$W/functions", file: "_albumfs",
      setup: #"fpath=($W/functions $fpath); autoload -U compinit && compinit -u -D; PS1='rea''dy '"#
    )
  }

  /// Types in a shell at a terminal, where alone it completes everything. `mnt2` is a directory whose
  /// name begins like the mount's, so a completed name with a blank behind it is a mount and no directory.
  private func complete(in shell: String, _ folder: String, file: String, setup: String) throws {
    let name = shell.prefix { $0 != " " }
    try MountedStore.use { mounted in
      try mounted.sh(
        "mkdir -p \(folder); albumfs --generate-completion-script \(name) > \(folder)/\(file)")
      try mounted.python(
        """
        import pty, select, struct, termios
        child, terminal = pty.fork()
        if child == 0:
            os.chdir("/"); os.environ["TERM"] = "dumb"
            words = "\(shell)".split(); os.execvp(words[0], words)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 300, 0, 0))
        def until(word):
            seen, end = b"", time.monotonic() + 300
            while word not in seen:
                assert select.select([terminal], [], [], max(0, end - time.monotonic()))[0], (word, seen)
                seen += os.read(terminal, 65536)
        def write(line): os.write(terminal, line)
        # Its first prompt.
        assert select.select([terminal], [], [], 300)[0]
        write(rb\"\"\"\(setup)\"\"\" + b"\\r"); until(b"ready ")
        point = os.fsencode(M)
        for typed, completed in (
                (b"trac", b"traces "), (b"umount " + point[:-2], point + b" "), (b"mount --own", b"--owner ")):
            write(b"albumfs " + typed + b"\\t"); until(completed); write(b"\\x15")
        os.kill(child, 9)
        """)
    }
  }
}
