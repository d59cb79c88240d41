// checkpoint_file.hpp — a job's progress on disk: whole and checked, or not there.
//
// A file has a magic, a form version, a header with sizes and its own checksum, then the replica's
// state with another (CRC-32). Numbers are in the byte order of the machine, which the header
// names: the state is this machine's floats anyway. A file is written under a temporary name beside
// its own, synchronised and renamed, so that the older one survives every failure until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace ukemi::kernels {

struct Checkpoint {
    std::uint64_t job = 0;      // job_identity of its TrainingSpec
    std::int64_t step = 0;      // the next one
    std::int64_t position = 0;  // samples used so far
    std::uint64_t plan_version = 0;
    std::vector<std::byte> state;  // Replica::state
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

inline constexpr std::size_t checkpoint_bytes_max = std::size_t{8} << 30;
inline constexpr std::size_t checkpoint_state_bytes_max = checkpoint_bytes_max - 64;

// Throws std::system_error when the machine fails; then the older file, if any, is as it was.
// Returns the size of the file.
std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
// The same with a state that lies elsewhere, of at most checkpoint_state_bytes_max: that of
// `checkpoint` is not looked at.
std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                              std::span<const std::byte> state);

// InputError for a file that is missing, foreign, damaged, cut short or too long, saying which. The
// header comes first: of a file that is no checkpoint, whatever its size, nothing else is read. It
// does not know the job: compare `job`.
Checkpoint read_checkpoint(const std::filesystem::path& file);
// The same from the bytes of a file; `file` is for the message.
Checkpoint parse_checkpoint(std::string_view bytes, std::string_view file);

// Removes from the folder what processes that are gone had begun to write there.
void sweep_unfinished_checkpoints(const std::filesystem::path& folder);

}  // namespace ukemi::kernels
