// inline_figure.hpp — the SVG of a figure as a part of a page.
//
// Of the drawing only what draws is taken: no scripts, no links, nothing that is loaded. Its ids
// get a prefix, so that several drawings may stand in one page.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace ukemi::analysis {

// InputError about `file` for what is no SVG.
void add_inline_figure(pugi::xml_node parent, const std::string& svg, std::string_view file,
                       std::string_view prefix, std::string_view label);

}  // namespace ukemi::analysis
