#include "runtime/notices/notice_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::runtime {

#define NOTICE_SOURCE(name, ...) \
    std::unique_ptr<NoticeSource> make_##name##_notices(std::string_view place);
#include "runtime/notices/notice_table.def"
#undef NOTICE_SOURCE

std::span<const NoticeSourceEntry> all_notice_sources() {
#define NOTICE_SOURCE(name, ...) NoticeSourceEntry{#name, __VA_ARGS__, &make_##name##_notices},
    static constexpr std::array table{
#include "runtime/notices/notice_table.def"
    };
#undef NOTICE_SOURCE
    return table;
}

std::unique_ptr<NoticeSource> make_notice_source(std::string_view text, std::string_view where) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    std::vector<std::string_view> names;
    for (const NoticeSourceEntry& entry : all_notice_sources()) {
        if (entry.name != name) {
            names.push_back(entry.name);
            continue;
        }
        try {
            return entry.make(colon == std::string_view::npos ? "" : text.substr(colon + 1));
        } catch (const std::invalid_argument& error) {
            throw InputError(where, "",
                             fmt::format("{}: expected {} after the colon, found {}", name,
                                         entry.place, ukemi::quoted(error.what())));
        }
    }
    throw InputError(where, "",
                     fmt::format("expected {}, found {}{}", fmt::join(names, ", "),
                                 ukemi::quoted(name), did_you_mean(name, names)));
}

}  // namespace ukemi::runtime
