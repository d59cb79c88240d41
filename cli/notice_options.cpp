#include "cli/notice_options.hpp"

#include <algorithm>

namespace ukemi::cli {

std::vector<std::unique_ptr<runtime::NoticeSource>> sources_in(std::string_view names) {
    std::vector<std::unique_ptr<runtime::NoticeSource>> sources;
    while (!names.empty()) {
        const std::string_view one = names.substr(0, names.find(','));
        sources.push_back(runtime::make_notice_source(one, "--notices"));
        names.remove_prefix(std::min(one.size() + 1, names.size()));
    }
    return sources;
}

}  // namespace ukemi::cli
