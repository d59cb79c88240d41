// file_notices.cpp — a file that is there once the machine will be taken: what a user's own
// watcher, a scheduler's hook or a test makes.
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

class FileNotices final : public NoticeSource {
public:
    explicit FileNotices(std::string_view path) : file_(path) {
        if (path.empty()) throw std::invalid_argument("");
    }

    std::optional<HostNotice> ask() override {
        if (!std::filesystem::exists(file_)) return std::nullopt;
        std::string text = read_file(file_);
        text.erase(text.find_last_not_of(" \r\n") + 1);
        const auto at = world_time(text);
        if (!at && !text.empty()) {
            throw std::runtime_error(fmt::format(
                "{}: expected a time such as 2026-11-23T08:22:00Z, or nothing, found {}",
                file_.string(), ukemi::quoted(text)));
        }
        return HostNotice{fmt::format("{} says that this machine goes{}", file_.string(),
                                      at ? " at " + utc_text(*at) : ""),
                          at, true};
    }
    bool is_near() const override { return true; }

private:
    std::filesystem::path file_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_file_notices(std::string_view place) {
    return std::make_unique<FileNotices>(place);
}

}  // namespace ukemi::runtime
