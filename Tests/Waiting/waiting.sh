# Waiting in scripts: see Tests/AlbumTestSupport/Waiting.swift.

# await COMMAND…: waits until a command succeeds, for five minutes at most. A pipeline, or a command with words
# that contain spaces, is one word.
await() {
  local awaited="$*" await_end=$((SECONDS + 300)) await_pause=2
  until eval "$awaited" 2>/dev/null; do
    if [ "$SECONDS" -ge "$await_end" ]; then
      echo "waited in vain for: $awaited" >&2
      return 1
    fi
    # What comes late is asked for less often: each question is a process or two.
    sleep "$(printf 0.%02d "$await_pause")"
    [ "$await_pause" -ge 24 ] || await_pause=$((await_pause * 3 / 2))
  done
}

# ended PROCESS: true if it has ended, even if nobody has waited for it. A zombie has ended when its other
# threads have.
ended() {
  case "$(cat "/proc/$1/stat" 2>/dev/null || true)" in
    '') ;;
    *') Z '* | *') X '*) [ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -le 1 ] ;;
    *) false ;;
  esac
}
