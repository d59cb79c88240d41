// written_files.cpp — the manifest is a list to compare with, never one to follow: folders are
// walked, links are not, and a name in it that leads elsewhere meets no file.
#include "analysis/written_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct WrittenFile {
    std::uintmax_t bytes = 0;
    std::string digest;

    bool operator==(const WrittenFile&) const = default;
};
using WrittenFiles = std::map<std::string, WrittenFile>;  // by the path below the folder

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

[[noreturn]] void fail_to_read(const fs::path& file, int error) {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("cannot read {}", file.string()));
}

// In pieces: a log of events can be larger than what is read anywhere else.
WrittenFile written_file(const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) fail_to_read(file, errno);
    WrittenFile found;
    std::uint64_t digest = text_digest_begin;
    std::string piece(std::size_t{256} << 10, '\0');
    ssize_t count = 0;
    while ((count = ::read(descriptor, piece.data(), piece.size())) != 0) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        const auto bytes = static_cast<std::size_t>(count);
        digest = text_digest(std::string_view(piece).substr(0, bytes), digest);
        found.bytes += bytes;
    }
    const int error = errno;
    ::close(descriptor);
    if (count < 0) fail_to_read(file, error);
    found.digest = digest_text(digest);
    return found;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry);
    std::ranges::sort(entries, {}, [](const auto& entry) { return entry.path(); });
    return entries;
}

bool is_folder(const fs::directory_entry& entry) {
    return entry.symlink_status().type() == fs::file_type::directory;
}

std::string below(const fs::path& file, const fs::path& folder) {
    return one_line(file.lexically_relative(folder).string());
}

void list_files(const fs::path& folder, const fs::path& at, WrittenFiles& files) {
    for (const auto& entry : entries_of(at)) {
        if (is_folder(entry)) {
            if (!has_manifest(entry.path())) list_files(folder, entry.path(), files);
        } else if (entry.path() != folder / manifest_name) {
            files[below(entry.path(), folder)] = written_file(entry.path());
        }
    }
}

void save(const fs::path& folder, const WrittenFiles& files) {
    json listed = json::object();
    for (const auto& [name, file] : files) {
        listed[name] = {{"bytes", file.bytes}, {"fnv1a", file.digest}};
    }
    write_file_atomically(folder / manifest_name, json{{"files", listed}}.dump(1) + "\n");
}

WrittenFiles listed_in(const fs::path& folder) {
    const fs::path manifest = folder / manifest_name;
    const json document = parse_json(read_file(manifest), manifest.string());
    WrittenFiles files;
    try {
        for (const auto& [name, file] : document.at("files").items()) {
            files[name] = {file.at("bytes").get<std::uintmax_t>(),
                           file.at("fnv1a").get<std::string>()};
        }
    } catch (const json::exception& error) {
        throw InputError(manifest.string(), "", fmt::format("damaged: {}", error.what()));
    }
    return files;
}

std::optional<ForeignFile> foreign_in(const fs::path& folder, const fs::path& at,
                                      const WrittenFiles& listed) {
    for (const auto& entry : entries_of(at)) {
        const fs::path& path = entry.path();
        if (is_folder(entry)) {
            auto foreign =
                has_manifest(path) ? foreign_file(path) : foreign_in(folder, path, listed);
            if (foreign) return foreign;
            continue;
        }
        if (path == folder / manifest_name) continue;
        const auto known = listed.find(below(path, folder));
        const bool regular = entry.symlink_status().type() == fs::file_type::regular;
        if (!regular || known == listed.end()) return ForeignFile{path, "no run wrote it"};
        const bool same = entry.file_size() == known->second.bytes &&
                          written_file(path).digest == known->second.digest;
        if (!same) return ForeignFile{path, "it was changed after a run wrote it"};
    }
    return std::nullopt;
}

bool remove_listed(const fs::path& folder, const fs::path& at, const WrittenFiles& listed) {
    bool all = true;
    std::error_code ignored;
    for (const auto& entry : entries_of(at)) {
        const fs::path& path = entry.path();
        if (is_folder(entry)) {
            all =
                (has_manifest(path) ? remove_written(path) : remove_listed(folder, path, listed)) &&
                all;
        } else if (path != folder / manifest_name) {
            const bool ours = listed.contains(below(path, folder));
            all = ours && fs::remove(path, ignored) && all;
        }
    }
    // The manifest goes last: until then, what is left can be told apart.
    if (all && at == folder) fs::remove(folder / manifest_name, ignored);
    return all && ::rmdir(at.c_str()) == 0;
}

}  // namespace

bool has_manifest(const fs::path& folder) {
    return fs::symlink_status(folder / manifest_name).type() == fs::file_type::regular;
}

void write_manifest(const fs::path& folder) {
    WrittenFiles files;
    list_files(folder, folder, files);
    save(folder, files);
}

void announce_file(const fs::path& folder, const fs::path& file, std::string_view text) {
    WrittenFiles files = listed_in(folder);
    files[one_line(file.string())] = {text.size(), digest_text(text_digest(text))};
    save(folder, files);
}

std::optional<ForeignFile> foreign_file(const fs::path& folder) {
    return foreign_in(folder, folder, listed_in(folder));
}

bool remove_written(const fs::path& folder) {
    return remove_listed(folder, folder, listed_in(folder));
}

}  // namespace ukemi::analysis
