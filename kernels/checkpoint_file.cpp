// checkpoint_file.cpp — a header of 64 bytes and the state.
#include "kernels/checkpoint_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/read_file.hpp"

namespace ukemi::kernels {
namespace {

// Not text, and damaged by a transfer that takes it for text (PNG's trick).
constexpr std::array<char, 8> magic{'\x8b', 'U', 'K', 'M', '\r', '\n', '\x1a', '\n'};
constexpr std::uint32_t form_version = 1;
constexpr std::uint32_t byte_order = 0x01020304;
// No run takes so many steps or samples; what counts on from here does not overflow.
constexpr std::int64_t count_max = std::int64_t{1} << 53;

// What a file begins with. No padding: its bytes are checked as they lie.
struct Header {
    std::array<char, 8> magic{};
    std::uint32_t byte_order = 0;
    std::uint32_t form_version = 0;
    std::uint64_t job = 0;
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::uint64_t plan_version = 0;
    std::uint64_t state_bytes = 0;
    std::uint32_t state_check = 0;
    std::uint32_t header_check = 0;  // over all that stands before it
};
static_assert(sizeof(Header) == checkpoint_bytes_max - checkpoint_state_bytes_max &&
              offsetof(Header, header_check) == sizeof(Header) - 4);

std::uint32_t check_of(const void* bytes, std::size_t count) {
    return static_cast<std::uint32_t>(crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

std::uint32_t check_of(const Header& header) {
    return check_of(&header, offsetof(Header, header_check));
}

[[noreturn]] void refuse_checkpoint(std::string_view file, std::string_view problem) {
    throw InputError(file, "", problem);
}

Header parse_header(std::string_view bytes, std::string_view file) {
    Header header;
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
    if (bytes.size() < magic.size() || header.magic != magic) {
        refuse_checkpoint(file, "expected a checkpoint, found a file of another kind");
    }
    if (bytes.size() < sizeof header) {
        refuse_checkpoint(
            file, fmt::format("is cut short: {} bytes are less than its header", bytes.size()));
    }
    if (header.byte_order != byte_order) {
        refuse_checkpoint(file, "was written on a machine of another byte order, or is damaged");
    }
    if (header.form_version != form_version) {
        refuse_checkpoint(file, fmt::format("expected a checkpoint of form {}, found form {}",
                                            form_version, header.form_version));
    }
    if (header.header_check != check_of(header)) {
        refuse_checkpoint(file, "is damaged: its header has another checksum");
    }
    const auto counts = [](std::int64_t number) { return number >= 0 && number <= count_max; };
    if (!counts(header.step) || !counts(header.position)) {
        refuse_checkpoint(file,
                          fmt::format("expected counts from 0 to {}, found step {} and position {}",
                                      count_max, header.step, header.position));
    }
    if (header.state_bytes > checkpoint_state_bytes_max) {
        refuse_checkpoint(
            file, fmt::format("expected at most {} bytes, found a header that tells of {} more",
                              checkpoint_bytes_max, header.state_bytes));
    }
    return header;
}

void expect_size(const Header& header, std::uint64_t state_bytes, std::string_view file) {
    if (header.state_bytes == state_bytes) return;
    refuse_checkpoint(file,
                      fmt::format("{}: expected {} bytes after the header, found {}",
                                  state_bytes < header.state_bytes ? "is cut short" : "is too long",
                                  header.state_bytes, state_bytes));
}

Checkpoint checkpoint_of(const Header& header, std::vector<std::byte> state,
                         std::string_view file) {
    if (header.state_check != check_of(state.data(), state.size())) {
        refuse_checkpoint(file, "is damaged: its state has another checksum");
    }
    return {.job = header.job,
            .step = header.step,
            .position = header.position,
            .plan_version = header.plan_version,
            .state = std::move(state)};
}

std::string reason(int error) { return std::generic_category().message(error); }

std::size_t read_up_to(std::FILE& stream, void* to, std::size_t bytes, std::string_view file) {
    const std::size_t count = std::fread(to, 1, bytes, &stream);
    if (std::ferror(&stream) != 0) refuse_checkpoint(file, "cannot be read: " + reason(errno));
    return count;
}

// Of a checkpoint that is not complete yet, the process that writes it: write_file_atomically
// names it after both ("checkpoint-000000000012.ukemi.tmp-4711-0").
std::optional<pid_t> writer_of(std::string_view name) {
    constexpr std::string_view mark = ".ukemi.tmp-";
    const std::size_t at = name.find(mark);
    if (!name.starts_with("checkpoint-") || at == name.npos) return std::nullopt;
    const std::string_view numbers = name.substr(at + mark.size());
    pid_t writer = 0;
    const auto [end, error] =
        std::from_chars(numbers.data(), numbers.data() + numbers.size(), writer);
    const bool goes_on = end != numbers.data() + numbers.size() && *end == '-';
    if (error != std::errc() || writer <= 0 || !goes_on) return std::nullopt;
    return writer;
}

bool is_gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
    return write_checkpoint(file, checkpoint, checkpoint.state);
}

std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                              std::span<const std::byte> state) {
    INVARIANT(state.size() <= checkpoint_state_bytes_max);
    Header header{.magic = magic,
                  .byte_order = byte_order,
                  .form_version = form_version,
                  .job = checkpoint.job,
                  .step = checkpoint.step,
                  .position = checkpoint.position,
                  .plan_version = checkpoint.plan_version,
                  .state_bytes = state.size(),
                  .state_check = check_of(state.data(), state.size()),
                  .header_check = 0};
    header.header_check = check_of(header);
    const auto text = [](const void* bytes, std::size_t count) {
        return std::string_view(static_cast<const char*>(bytes), count);
    };
    write_file_atomically(file, {text(&header, sizeof header), text(state.data(), state.size())});
    return static_cast<std::int64_t>(sizeof header + state.size());
}

Checkpoint parse_checkpoint(std::string_view bytes, std::string_view file) {
    const Header header = parse_header(bytes, file);
    const auto state = std::as_bytes(std::span(bytes.substr(sizeof header)));
    expect_size(header, state.size(), file);
    return checkpoint_of(header, {state.begin(), state.end()}, file);
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
    const std::string name = file.string();
    // Without waiting: a pipe that nobody writes to is refused, as all is that is no file.
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse_checkpoint(name, "cannot be opened: " + reason(errno));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(descriptor, "rb"),
                                                                 &std::fclose);
    if (stream == nullptr) {
        ::close(descriptor);
        refuse_checkpoint(name, "cannot be opened: " + reason(errno));
    }
    struct stat about {};
    if (::fstat(descriptor, &about) != 0)
        refuse_checkpoint(name, "cannot be read: " + reason(errno));
    if (S_ISDIR(about.st_mode)) refuse_checkpoint(name, "expected a file, found a directory");
    if (!S_ISREG(about.st_mode))
        refuse_checkpoint(name, "expected a file, found a pipe or a device");
    std::string first(sizeof(Header), '\0');
    first.resize(read_up_to(*stream, first.data(), first.size(), name));
    const Header header = parse_header(first, name);
    expect_size(header, static_cast<std::uint64_t>(about.st_size) - sizeof header, name);
    std::vector<std::byte> state(header.state_bytes);
    state.resize(read_up_to(*stream, state.data(), state.size(), name));
    expect_size(header, state.size(), name);  // it may have been cut meanwhile
    return checkpoint_of(header, std::move(state), name);
}

void sweep_unfinished_checkpoints(const std::filesystem::path& folder) {
    std::error_code ignored;  // what cannot be swept now harms nobody
    for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end;
         entry.increment(ignored)) {
        const auto writer = writer_of(entry->path().filename().string());
        if (!writer || !is_gone(*writer)) continue;
        std::error_code unswept;
        std::filesystem::remove(entry->path(), unswept);
    }
}

}  // namespace ukemi::kernels
