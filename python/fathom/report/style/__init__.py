"""Colours, the drawing surface, the SVG that serves light, dark and print, and the page's style and script."""
