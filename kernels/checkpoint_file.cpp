// checkpoint_file.cpp — a header of 64 bytes and the state.
#include "kernels/checkpoint_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <string>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/read_file.hpp"

namespace ukemi {
namespace {

// Not text, and damaged by a transfer that takes it for text (PNG's trick).
constexpr std::array<char, 8> magic{'\x8b', 'U', 'K', 'M', '\r', '\n', '\x1a', '\n'};
constexpr std::uint32_t form_version = 1;
constexpr std::uint32_t byte_order = 0x01020304;

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
static_assert(sizeof(Header) == 64 && offsetof(Header, header_check) == 60);

std::uint32_t check_of(const void* bytes, std::size_t count) {
    return static_cast<std::uint32_t>(crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

std::uint32_t check_of(const Header& header) {
    return check_of(&header, offsetof(Header, header_check));
}

[[noreturn]] void refuse(std::string_view file, std::string_view problem) {
    throw InputError(file, "", problem);
}

Header parse_header(std::string_view bytes, std::string_view file) {
    Header header;
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
    if (bytes.size() < magic.size() || header.magic != magic) {
        refuse(file, "expected a checkpoint, found a file of another kind");
    }
    if (bytes.size() < sizeof header) {
        refuse(file, fmt::format("is cut short: {} bytes are less than its header", bytes.size()));
    }
    if (header.byte_order != byte_order) {
        refuse(file, "was written on a machine of another byte order, or is damaged");
    }
    if (header.form_version != form_version) {
        refuse(file, fmt::format("expected a checkpoint of form {}, found form {}", form_version,
                                 header.form_version));
    }
    if (header.header_check != check_of(header)) {
        refuse(file, "is damaged: its header has another checksum");
    }
    if (header.step < 0 || header.position < 0) {
        refuse(file, fmt::format("expected counts from 0, found step {} and position {}",
                                 header.step, header.position));
    }
    return header;
}

}  // namespace

std::int64_t write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
    Header header{.magic = magic,
                  .byte_order = byte_order,
                  .form_version = form_version,
                  .job = checkpoint.job,
                  .step = checkpoint.step,
                  .position = checkpoint.position,
                  .plan_version = checkpoint.plan_version,
                  .state_bytes = checkpoint.state.size(),
                  .state_check = check_of(checkpoint.state.data(), checkpoint.state.size()),
                  .header_check = 0};
    header.header_check = check_of(header);
    INVARIANT(checkpoint.state.size() <= checkpoint_bytes_max - sizeof header);
    std::string text;
    text.reserve(sizeof header + checkpoint.state.size());
    text.append(reinterpret_cast<const char*>(&header), sizeof header);
    text.append(reinterpret_cast<const char*>(checkpoint.state.data()), checkpoint.state.size());
    write_file_atomically(file, text);
    return static_cast<std::int64_t>(text.size());
}

Checkpoint parse_checkpoint(std::string_view bytes, std::string_view file) {
    const Header header = parse_header(bytes, file);
    const std::string_view state = bytes.substr(sizeof header);
    if (header.state_bytes != state.size()) {
        refuse(file, fmt::format("{}: expected {} bytes after the header, found {}",
                                 state.size() < header.state_bytes ? "is cut short" : "is too long",
                                 header.state_bytes, state.size()));
    }
    if (header.state_check != check_of(state.data(), state.size())) {
        refuse(file, "is damaged: its state has another checksum");
    }
    Checkpoint checkpoint{.job = header.job,
                          .step = header.step,
                          .position = header.position,
                          .plan_version = header.plan_version,
                          .state = {}};
    const std::span<const char> text(state);
    const auto raw = std::as_bytes(text);
    checkpoint.state.assign(raw.begin(), raw.end());
    return checkpoint;
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
    const std::string bytes = read_file(file, checkpoint_bytes_max);
    return parse_checkpoint(bytes, file.string());
}

}  // namespace ukemi
