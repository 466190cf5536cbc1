"""From stored runs to tables and figures. Nothing here simulates."""
